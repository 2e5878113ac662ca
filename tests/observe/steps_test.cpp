#include "observe/steps.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/error.hpp"
#include "observe/step_formats.hpp"

namespace plimsoll::observe {

std::optional<int64_t> step_in(std::string_view line) { return recognise(line, nullptr).step; }

TEST(Steps, ForeignProgramsPrintThem) {
  EXPECT_EQ(step_in("Iter   100/5000 | Loss: 3.6711 | LR: 2.97e-04 | Speed: 100.0 it/s"), 100);
  EXPECT_EQ(step_in("iter 250: loss 2.1, time 33ms"), 250);
  EXPECT_EQ(step_in("step 100"), 100);
  EXPECT_EQ(step_in("Epoch 3, Step: 1,200, loss=2"), 1200);
  EXPECT_EQ(step_in("[2024-01-01 10:00:00] global_step=77 loss=1.5"), 77);
  EXPECT_EQ(step_in("{\"step\": 42, \"loss\": 1.5}"), 42);
  EXPECT_EQ(step_in("  training iteration #8 done"), 8);
  EXPECT_EQ(step_in(" 12%|\xe2\x96\x88\xe2\x96\x8f        | 120/1000 [00:12<01:30,  9.78it/s]"), 120);
  EXPECT_EQ(step_in("train:  50%|#####     | 5/10 [00:01<00:01, 5.0it/s, loss=2]"), 5);
}

// Lines as these libraries print them.
TEST(Steps, TrainingLibrariesPrintThem) {
  EXPECT_EQ(
      step_in(
          "\x1b[1m12/19\x1b[0m \x1b[32m━━━━\x1b[0m\x1b[37m━━━\x1b[0m \x1b[1m2s\x1b[0m 19ms/step - loss: 0.7"),
      12);                                                                                       // Keras 3
  EXPECT_EQ(step_in(" 12/938 [..............................] - ETA: 3s - loss: 0.5"), 12);      // Keras 2
  EXPECT_EQ(step_in("Epoch 0:  63%|██████▎   | 12/19 [00:00<00:00, 473.79it/s, v_num=0]"), 12);  // Lightning
  EXPECT_EQ(step_in("Epoch 1/9  ━━━━━━╸━━━━ 12/19 0:00:00 • 0:00:00 473.79it/s"), 12);  // Lightning with Rich
  EXPECT_EQ(step_in("[12]\ttrain-logloss:0.23693"), 12);                                // XGBoost
  EXPECT_EQ(step_in("[12]\tvalid_0's binary_logloss: 0.49341"), 12);                    // LightGBM
  EXPECT_EQ(step_in("12:\tlearn: 0.3981470\ttotal: 54.4ms\tremaining: 0us"), 12);       // CatBoost
  EXPECT_EQ(step_in("Epoch: [0][  12/5005]\tTime  0.5 (0.6)\tLoss 6.9 (6.9)"),
            12);  // PyTorch's ImageNet example
  EXPECT_EQ(step_in("Epoch: [0]  [  12/1000]  eta: 0:01:00  lr: 0.1  loss: 6.9"), 12);  // torchvision
  EXPECT_EQ(step_in("11/18 09:12:57 - mmengine - INFO - Epoch(train)  [1][  12/1000]  lr: 1e-2"), 12);
  EXPECT_EQ(step_in("Train: 0 [  12/1251 (  1%)]  Loss: 6.94 (6.9)"), 12);  // timm
  EXPECT_EQ(recognise("Epoch 0:  63%|######3   | 12/19 [00:00<00:00]", nullptr).total, 19);
  EXPECT_EQ(recognise("Epoch: [2][  12/5005]", nullptr).epoch, 2);
}

TEST(Steps, BarsOfEpochsCountNoSteps) {
  for (const char* line :
       {"Epochs:  40%|####      | 4/10 [00:01<00:02]", "Epoch 4:  40%|####      | 4/10 [00:01<00:02]",
        "epoch 3:  40%|####      | 4/10 [00:01<00:02]", "19/19 - 1s - 65ms/step - loss: 0.7",
        "[4711] INFO: started", "[2024-01-01] ready", "12: learn", "Epoch(val) [1][12/1000]",
        "Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.3", "━━━━━━━━━━ 40% 0:00:01", "1/19", "3/4 [x]"})
    EXPECT_FALSE(step_in(line)) << line;
}

TEST(Steps, EscapesOfTheTerminalAreLeftOut) {
  std::string place;
  EXPECT_EQ(without_escapes("plain", place), "plain");
  EXPECT_EQ(without_escapes("\x1b[1;32mgreen\x1b[0m and\x1b[K so on\x1b", place), "green and so on");
  EXPECT_EQ(without_escapes("cut \x1b[3", place), "cut ");
  EXPECT_EQ(step_in("\x1b[1mstep\x1b[0m \x1b[32m7\x1b[0m"), 7);
}

TEST(Steps, OtherNumbersAreNotSteps) {
  for (const char* line : {"step size 0.1", "3 steps/s", "timestep 1.5", "footsteps: 3 x", "step 1.5",
                           "step 3e-4", "stepping 10", "epoch 3", "100%|##| 1.2k/3k [00:01<00:00]",
                           "Downloading: 50%|##   | 5/10 [00:01<00:01]", "50% | 5/10", "", "step"})
    EXPECT_FALSE(step_in(line)) << line;
}

TEST(Steps, HuggingFaceDictionariesAndPhases) {
  auto log = recognise("{'loss': 2.51, 'grad_norm': 1.2, 'learning_rate': 5e-05, 'epoch': 0.02}", nullptr);
  EXPECT_EQ(log.source, StepSource::dictionary);
  EXPECT_EQ(recognise("***** Running Evaluation *****", nullptr).phase, "validate");
  EXPECT_EQ(recognise("{'eval_loss': 2.2, 'epoch': 1.0}", nullptr).phase, "train");
  EXPECT_EQ(recognise("Validation: 10%|#    | 1/10 [00:01<00:09]", nullptr).phase, "validate");
  StepCounter counter;
  for (int i = 0; i < 3; ++i) counter.take(log);
  EXPECT_EQ(counter.step(), 3);
}

TEST(Steps, TheMostTrustedSourceCountsAndEpochsGoOn) {
  StepCounter counter;
  EXPECT_FALSE(counter.step());
  counter.take(recognise("  1%|#  | 90/9000 [00:01<00:09]", nullptr));
  EXPECT_EQ(counter.step(), 90);
  counter.take(recognise("step 10", nullptr));
  EXPECT_EQ(counter.step(), 10);
  counter.take(recognise("  1%|#  | 95/9000 [00:01<00:09]", nullptr));
  EXPECT_EQ(counter.step(), 10);
  counter.take(recognise("step 100", nullptr));
  counter.take(recognise("step 99", nullptr));  // late line
  EXPECT_EQ(counter.step(), 100);
  counter.take(recognise("step 1", nullptr));  // the next epoch
  counter.take(recognise("step 2", nullptr));
  EXPECT_EQ(counter.step(), 102);
  counter.take(*parse_datagram("step 7"));
  EXPECT_EQ(counter.step(), 7);
}

TEST(Steps, NoCountIsTooLarge) {
  StepCounter counter;
  for (int i = 0; i < 20'000; ++i)
    for (const char* line : {"step 1125899906842624", "step 1", "step 7000000000160909680"})
      counter.take(recognise(line, nullptr));
  EXPECT_EQ(counter.step(), (int64_t{1} << 50) + 1);
}

TEST(Steps, OwnExpression) {
  StepPattern pattern("it=(\\d+)");
  EXPECT_EQ(recognise("x it=55 step 3", &pattern).step, 55);
  EXPECT_FALSE(recognise("step 3", &pattern).step);
  EXPECT_THROW(StepPattern("(["), InputError);
  EXPECT_THROW(StepPattern("step"), InputError) << "which part of it would be the step?";
  // Would take longer than the age of the universe where a matcher backtracks.
  StepPattern nasty("^(a+)+b([0-9]+)$");
  EXPECT_FALSE(nasty.find(std::string(longest_line, 'a')));
}

TEST(Steps, Datagrams) {
  EXPECT_EQ(parse_datagram("step 120\n")->step, 120);
  EXPECT_EQ(parse_datagram("step 120/1000")->step, 120);
  EXPECT_EQ(parse_datagram("step 120/1000")->total, 1000);
  EXPECT_EQ(parse_datagram("step 120")->total, 0);
  EXPECT_FALSE(parse_datagram("step 120/x"));
  EXPECT_EQ(parse_datagram("phase validate")->phase, "validate");
  EXPECT_EQ(parse_datagram("phase  epoch end \n")->phase, "epoch end");
  for (const char* text :
       {"", "step", "step x", "step -1", "step 1 2", "phase", "phase  ", "stop", "step 99999999999999999999"})
    EXPECT_FALSE(parse_datagram(text)) << text;
}

RC_GTEST_PROP(Lines, CutTheSameHoweverTheBytesArrive, (std::vector<std::string> pieces)) {
  std::string whole;
  for (const auto& piece : pieces) whole += piece;
  std::vector<std::string> at_once, in_pieces;
  LineCutter one, many;
  one.feed(whole, [&](std::string_view line) { at_once.emplace_back(line); });
  for (const auto& piece : pieces)
    many.feed(piece, [&](std::string_view line) { in_pieces.emplace_back(line); });
  RC_ASSERT(at_once == in_pieces);
}

TEST(Lines, AnEndlessLineTakesNoMemory) {
  LineCutter cutter;
  std::string block(100'000, 'x');
  size_t longest = 0;
  for (int i = 0; i < 100; ++i) cutter.feed(block, [](std::string_view) { FAIL(); });
  cutter.feed("\n", [&](std::string_view line) { longest = line.size(); });
  EXPECT_EQ(longest, longest_line);
}

// How far a program is, where it says so.
TEST(Recognise, TotalsAndEpochs) {
  EXPECT_EQ(recognise("Iter   100/5000 | Loss: 3.6", nullptr).total, 5000);
  EXPECT_EQ(recognise("step 7 of 30", nullptr).total, 30);
  EXPECT_EQ(recognise("step 7, loss 30", nullptr).total, 0);
  EXPECT_EQ(recognise(" 12%|#2   | 120/1000 [00:12<01:30, 9.78it/s]", nullptr).total, 1000);
  EXPECT_EQ(recognise("Epoch 3/10", nullptr).epoch, 3);
  EXPECT_FALSE(recognise("Epoch 1/1", nullptr).epoch);  // there is no second one to wait for
  EXPECT_EQ(recognise("{'loss': 2.1, 'epoch': 0.52}", nullptr).epoch, 1.52);
  EXPECT_FALSE(recognise("step 7", nullptr).epoch);
}

TEST(Recognise, AnnouncedPhases) {
  EXPECT_EQ(recognise("Validating...", nullptr).phase, "validate");
  EXPECT_EQ(recognise("--- Evaluation ---", nullptr).phase, "validate");
  EXPECT_TRUE(recognise("Validating...", nullptr).announced);
  EXPECT_EQ(recognise("Validation loss: 2.31", nullptr).phase, "");  // it is over
  EXPECT_EQ(recognise("the validation set is small", nullptr).phase, "");
}

}  // namespace plimsoll::observe
