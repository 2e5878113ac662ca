// A set of drawn pictures with questions that can only be answered by looking: one to four objects of one shape and colour in one corner.
// A quarter of the combinations is held out: their pictures are in the second file alone. The quarters are such that every shape,
// colour, number and corner, and every pair of them, is as frequent in both files, so nothing is known without the picture.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

namespace plimsoll {

constexpr int64_t shape_picture_edge = 64;  // pixels

struct ShapeScene {
  int shape = 0, colour = 0, count = 1, corner = 0;
  bool held_out() const { return (shape + colour + count + corner) % 4 == 0; }
};
constexpr int shape_questions = 4;
const char* shape_question(int question);
const char* shape_answer(const ShapeScene& scene, int question);

// RGB. A pure function of the scene, the seed and the number.
std::vector<uint8_t> draw_shapes(const ShapeScene& scene, uint64_t seed, uint64_t number);

struct ShapeSet {
  uint64_t rows = 0, held_out = 0;
  double chance =
      0;  // of the rows held out, the share answered by whoever gives the most frequent answer to each question
};
// Writes train.jsonl with `rows` rows, held-out.jsonl with an eighth as many, at least 256, and a picture for each row, into a
// folder that is new or empty. InputError where it is not.
ShapeSet write_shapes(const std::filesystem::path& folder, uint64_t rows, uint64_t seed);

}  // namespace plimsoll
