#include "data/shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/random.hpp"
#include "image/write_png.hpp"

namespace plimsoll {
namespace {

constexpr const char* shape_names[] = {"circle", "square", "triangle", "cross"};
constexpr const char* colour_names[] = {"red", "green", "blue", "yellow"};
constexpr const char* number_names[] = {"one", "two", "three", "four"};
constexpr const char* corner_names[] = {"top left", "top right", "bottom left", "bottom right"};
constexpr const char* questions[] = {"What shape?", "What colour?", "How many?", "Where?"};
constexpr uint8_t colours[4][3] = {{214, 40, 40}, {44, 160, 44}, {31, 90, 200}, {240, 210, 30}};

bool covers(int shape, double x, double y, double radius) {
  switch (shape) {
    case 0:
      return x * x + y * y <= radius * radius;
    case 1:
      return std::max(std::abs(x), std::abs(y)) <= 0.85 * radius;
    case 2:
      return y <= 0.8 * radius && std::abs(x) <= 0.55 * (y + radius);
    default:
      return std::min(std::abs(x), std::abs(y)) <= 0.3 * radius &&
             std::max(std::abs(x), std::abs(y)) <= radius;
  }
}

// The scenes that are held out, or those that are not.
std::vector<ShapeScene> scenes_of(bool held_out) {
  std::vector<ShapeScene> scenes;
  for (int i = 0; i < 256; ++i) {
    const ShapeScene scene{i / 64, i / 16 % 4, i / 4 % 4 + 1, i % 4};
    if (scene.held_out() == held_out) scenes.push_back(scene);
  }
  return scenes;
}

// Every scene with every question in its turn.
struct Asked {
  ShapeScene scene;
  int question;
};
Asked asked(const std::vector<ShapeScene>& scenes, uint64_t row) {
  return {scenes[row % scenes.size()], int((row / scenes.size() + row) % shape_questions)};
}

void write_rows(const std::filesystem::path& folder, const std::string& name, bool held_out, uint64_t rows,
                uint64_t seed) {
  std::filesystem::create_directory(folder / name);
  const std::vector<ShapeScene> scenes = scenes_of(held_out);
  std::string lines;
  for (uint64_t row = 0; row < rows; ++row) {
    const auto [scene, question] = asked(scenes, row);
    const std::string file = fmt::format("{}/{:06}.png", name, row + 1);
    write_atomically(folder / file, png_of(draw_shapes(scene, seed, 2 * row + held_out),
                                           {shape_picture_edge, shape_picture_edge}));
    lines +=
        nlohmann::ordered_json{
            {"image", file}, {"text", shape_question(question)}, {"response", shape_answer(scene, question)}}
            .dump() +
        "\n";
  }
  write_durably(folder / (name + ".jsonl"), lines);
}

double chance_of(uint64_t rows) {
  const std::vector<ShapeScene> scenes = scenes_of(true);
  std::map<std::string, uint64_t> counts[shape_questions];
  for (uint64_t row = 0; row < rows; ++row) {
    const auto [scene, question] = asked(scenes, row);
    ++counts[question][shape_answer(scene, question)];
  }
  uint64_t most = 0;
  for (const auto& answers : counts)
    most += std::max_element(answers.begin(), answers.end(), [](const auto& a, const auto& b) {
              return a.second < b.second;
            })->second;
  return double(most) / double(rows);
}

}  // namespace

const char* shape_question(int question) { return questions[question]; }

const char* shape_answer(const ShapeScene& scene, int question) {
  switch (question) {
    case 0:
      return shape_names[scene.shape];
    case 1:
      return colour_names[scene.colour];
    case 2:
      return number_names[scene.count - 1];
    default:
      return corner_names[scene.corner];
  }
}

std::vector<uint8_t> draw_shapes(const ShapeScene& scene, uint64_t seed, uint64_t number) {
  const CounterRng random(seed, Stream::pictures);
  uint64_t draws = number * 64;
  const auto between = [&](double low, double high) { return low + (high - low) * random.uniform(draws++); };
  constexpr int64_t edge = shape_picture_edge, cell = edge / 4;
  const auto ground = uint8_t(between(225, 256));
  std::vector<uint8_t> rgb(3 * edge * edge, ground);
  double colour[3];
  for (int c = 0; c < 3; ++c) colour[c] = std::clamp(colours[scene.colour][c] + between(-20, 20), 0., 255.);
  int cells[] = {0, 1, 2, 3};
  for (int i = 0; i < 3; ++i) std::swap(cells[i], cells[i + int(random.below(draws++, uint64_t(4 - i)))]);
  for (int i = 0; i < scene.count; ++i) {
    const double radius = between(5, 7), give = double(cell) / 2 - radius;
    const double x = double(2 * (scene.corner % 2) + cells[i] % 2) * cell + cell / 2. + between(-give, give),
                 y = double(2 * (scene.corner / 2) + cells[i] / 2) * cell + cell / 2. + between(-give, give);
    for (int64_t row = 0; row < edge; ++row)
      for (int64_t column = 0; column < edge; ++column)
        if (covers(scene.shape, double(column) + 0.5 - x, double(row) + 0.5 - y, radius))
          for (int c = 0; c < 3; ++c) rgb[size_t(3 * (row * edge + column) + c)] = uint8_t(colour[c]);
  }
  return rgb;
}

ShapeSet write_shapes(const std::filesystem::path& folder, uint64_t rows, uint64_t seed) {
  if (rows < 1 || rows > 1'000'000) fail_input("--rows {}: give 1 to 1,000,000", rows);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_empty(folder, error) || error)
    fail_input("{}: {}", folder.string(), error ? error.message() : "it is not empty; name a new folder");
  const uint64_t block = scenes_of(true).size() * shape_questions;  // every question of every scene
  const uint64_t held_out = std::max<uint64_t>(1, rows / 8 / block) * block;
  write_rows(folder, "train", false, rows, seed);
  write_rows(folder, "held-out", true, held_out, seed);
  return {rows, held_out, chance_of(held_out)};
}

}  // namespace plimsoll
