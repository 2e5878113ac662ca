// How the words of a command line are read: where a program begins, names from other trainers, suggestions.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"

namespace plimsoll::cli {
namespace {

constexpr const char* echo_arguments = "sh -c 'for a in \"$@\"; do echo \"[$a]\"; done' name";

TEST(Words, EverythingAfterTheDashesBelongsToTheProgram) {
  for (const std::string before : {"watch --quiet --serve 127.0.0.1:0", "watch --quiet --serve",
                                   "watch --quiet", "guard --serve", "guard"}) {
    const Outcome outcome =
        plimsoll(before + " -- " + echo_arguments + " train.py --out results --json -c -- --serve");
    EXPECT_EQ(outcome.code, 0) << before << ": " << outcome.error;
    const std::string words = "[train.py]\n[--out]\n[results]\n[--json]\n[-c]\n[--]\n[--serve]\n";
    EXPECT_NE(outcome.out.find(words), std::string::npos) << before << ": " << outcome.out;
  }
}

TEST(Words, NoOptionTakesItsValueFromBehindTheDashes) {
  expect_refused("watch --out -- true", "--out needs a value");
  expect_refused("watch --pid -- true", "--pid needs a value");
  expect_refused("guard --hook -- true", "--hook needs a value");
  expect_refused("sample --prompt -- runs/none", "--prompt needs a value");
  expect_refused("watch --out --json -- true", "--out needs a value");
  expect_refused("watch true -- false", "'true' stands before `--`");
  expect_refused("watch --lr 3 -- true", "options of the program itself go after `--`");
}

TEST(Words, ARunFileIsNoProgram) {
  char folder[] = "/tmp/plimsoll-cli-XXXXXX";
  const std::string run = std::string(mkdtemp(folder)) + "/run.db";
  ASSERT_EQ(plimsoll("watch --quiet --out " + run + " -- sleep 0.3").code, 0);
  expect_refused("profile " + run, "is a run file, not a program; write its sites with --pprof");
  std::filesystem::remove_all(folder);
}

TEST(Words, NamesOfOtherTrainersAreTaken) {
  const Outcome outcome = plimsoll(
      "config --json --learning_rate=1e-3 --max_iters 70 --n_layer=2 --n-head 2 --n_embd 64 --block_size 32 "
      "--batch_size 3 --gradient_accumulation_steps 2 --weight_decay 0.1 --warmup_steps 5 --grad_clip 0.5 "
      "--eval_interval 10 --out_dir runs/x");
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const auto settings = nlohmann::json::parse(outcome.out).at("settings");
  const std::pair<const char*, nlohmann::json> expected[] = {
      {"lr", 1e-3},    {"iterations", 70}, {"layers", 2},     {"heads", 2},          {"dim", 64},
      {"context", 32}, {"batch", 3},       {"accumulate", 2}, {"weight_decay", 0.1}, {"warmup", 5},
      {"clip", 0.5},   {"eval_every", 10}, {"out", "runs/x"}};
  for (const auto& [name, value] : expected) EXPECT_EQ(settings.at(name).at("value"), value) << name;
  EXPECT_EQ(
      nlohmann::json::parse(plimsoll("config --json --max-steps 71").out)["settings"]["iterations"]["value"],
      71);
}

TEST(Words, SuggestsWhatWasLikelyMeantAndNothingElse) {
  expect_refused("tran --small", "did you mean 'train'?");
  expect_refused("trian", "did you mean 'train'?");
  expect_refused("config --iteratons 3", "did you mean '--iterations'?");
  expect_refused("config --iter 3", "did you mean '--iterations'?");
  expect_refused("config --learning-rat 3", "did you mean '--learning-rate'?");
  expect_refused("watch --max-new-tok 3 -- true", "options of the program itself go after `--`");
  expect_refused("guard --limit 3XB -- true", "--limit: '3XB' is not a size");
  expect_refused("guard --grace soon -- true", "--grace: 'soon' is not a duration");
  expect_refused("watch --interval 3q -- true", "--interval: '3q' is not a duration");
  expect_refused("profile --rate 3q -- true", "--rate: '3q' is not a size");
  expect_refused("guard --limit 0 -- true", "--limit 0 leaves no memory at all");
  expect_refused("verdict --limit 3XB x.csv", "--limit: '3XB' is not a size");
  expect_refused("config --memory much", "--memory: 'much' is not a size");
  expect_refused("config --data ''", "--data is empty; give a PATH");
  expect_refused("config --out=", "--out is empty");
  expect_refused("train --ranks 2", "mpirun -n N");
  expect_refused("watch --for", "--for needs a value, TIME");
  expect_refused("data", "ACTION is missing: check, pictures or shapes");
  expect_refused("data chek rows.jsonl", "ACTION: 'chek' is not one of check|pictures");
  expect_refused("serve", "RECORD is missing: run.db, or the folder of a run");
  expect_refused("completion tcsh", "SHELL: 'tcsh' is not one of bash|zsh|fish");
  expect_refused("runs none", "give one that holds run folders or run files");
  expect_refused("report none", "give a run.db, or the folder of a run");
  expect_refused("config --epochs 3", "give --iterations");
  expect_refused("watch --pid abc", "--pid: 'abc' is not a whole number");
  expect_refused("watch --pid 99999999999", "--pid: '99999999999' is too large");
  expect_refused("report --format xml run.db", "--format: 'xml' is not one of html|md|json|svg|csv");
  expect_refused("sample runs/none", "cannot load a checkpoint from 'runs/none'");
  expect_refused("sample runs/none --chat a --prompt b", "give either --chat or --prompt");
  expect_refused("sample runs/none --chat a --interactive", "leave --chat out");
  expect_refused("sample runs/none --interactive --json", "leave --json out");
  expect_refused("data pictures none.png", "there is no such file");
  expect_refused("sample", "give either a run folder or --model DIR");
  const Outcome far = plimsoll("config --quantum 3");
  EXPECT_EQ(far.error.find("did you mean"), std::string::npos) << far.error;
  const Outcome raw = plimsoll("config \"$(printf -- '--\\033[31mred')\"");
  EXPECT_EQ(raw.error.find('\033'), std::string::npos) << raw.error;
}

TEST(Words, VersionIsToldInEveryForm) {
  EXPECT_EQ(plimsoll("--version").out, "plimsoll " PLIMSOLL_VERSION "\n");
  EXPECT_EQ(nlohmann::json::parse(plimsoll("version --json").out).at("version"), PLIMSOLL_VERSION);
  EXPECT_EQ(plimsoll("help train").out, plimsoll("train --help").out);
}

}  // namespace
}  // namespace plimsoll::cli
