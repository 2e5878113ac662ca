// What an evaluation finds depends on its windows alone: not on how many are looked at together, nor on what was in memory before.
#include "train/evaluate.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "base/file.hpp"
#include "data/shapes.hpp"
#include "train/run_folder.hpp"
#include "train/way.hpp"

namespace plimsoll {
namespace {

class Evaluated : public testing::Test {
 protected:
  Evaluated() : folder_(make_temporary_folder(std::filesystem::temp_directory_path() / "evaluate-")) {
    write_shapes(folder_ / "set", 60, 1);
    settings_ = vision_defaults("tiny");
    settings_.data = folder_ / "set/train.jsonl";
    settings_.image_buffer = "1MB", settings_.loaders = 0;
    corpus_ = open_corpus(settings_);
  }
  ~Evaluated() override { std::filesystem::remove_all(folder_); }

  // With `together` windows at a time, in memory that held something else.
  double loss(int together, uint64_t windows) const {
    Settings s = settings_;
    s.batch = s.micro_batch = together, s.lanes = 1;
    Runtime runtime(program_options(s, corpus_->vocabulary()), 1, kernels::open_backend("native"), false);
    runtime.initialise(1);
    for (const ValueId input : {runtime.program().evaluate_tokens, runtime.program().evaluate_targets,
                                runtime.program().evaluate_positions})
      std::memset(runtime.executor().bytes(input), 0x7e, size_t(runtime.graph()[input].type.bytes()));
    return evaluate(runtime, Evaluation::subset(*corpus_, settings_.context, windows)).loss;
  }

  std::filesystem::path folder_;
  Settings settings_;
  std::unique_ptr<Corpus> corpus_;
};

TEST_F(Evaluated, WindowsThatDoNotFillTheRowsOfABatchHaveTheSameLoss) {
  const double alone = loss(1, 2);
  EXPECT_GT(alone, 0);
  EXPECT_NEAR(loss(2, 2), alone, 1e-6);
  EXPECT_NEAR(loss(3, 2), alone, 1e-6) << "a row is left over";
}

}  // namespace
}  // namespace plimsoll
