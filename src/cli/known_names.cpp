#include "cli/known_names.hpp"

#include <algorithm>

namespace plimsoll::cli {
namespace {

struct Name {
  const char *ours, *foreign;
};

constexpr Name counterparts[] = {
    {"--lr", "--learning-rate"},
    {"--min-lr", "--min-learning-rate"},
    {"--iterations", "--iters"},
    {"--iterations", "--steps"},
    {"--iterations", "--max-iters"},
    {"--iterations", "--max-steps"},
    {"--layers", "--n-layer"},
    {"--layers", "--n-layers"},
    {"--layers", "--num-layers"},
    {"--layers", "--num-hidden-layers"},
    {"--heads", "--n-head"},
    {"--heads", "--n-heads"},
    {"--heads", "--num-heads"},
    {"--heads", "--num-attention-heads"},
    {"--dim", "--width"},
    {"--dim", "--n-embd"},
    {"--dim", "--hidden-size"},
    {"--dim", "--d-model"},
    {"--ff", "--n-inner"},
    {"--ff", "--intermediate-size"},
    {"--context", "--block-size"},
    {"--context", "--seq-len"},
    {"--context", "--max-seq-length"},
    {"--positions", "--n-positions"},
    {"--positions", "--max-position-embeddings"},
    {"--vocab", "--vocab-size"},
    {"--batch", "--batch-size"},
    {"--batch", "--per-device-train-batch-size"},
    {"--accumulate", "--gradient-accumulation-steps"},
    {"--warmup", "--warmup-iters"},
    {"--warmup", "--warmup-steps"},
    {"--clip", "--grad-clip"},
    {"--clip", "--max-grad-norm"},
    {"--optimizer", "--optim"},
    {"--beta1", "--adam-beta1"},
    {"--beta2", "--adam-beta2"},
    {"--epsilon", "--adam-epsilon"},
    {"--eval-every", "--eval-interval"},
    {"--eval-every", "--eval-steps"},
    {"--eval-batches", "--eval-iters"},
    {"--log-every", "--log-interval"},
    {"--log-every", "--logging-steps"},
    {"--checkpoint-every", "--save-steps"},
    {"--data", "--dataset"},
    {"--data", "--train-file"},
    {"--out", "--out-dir"},
    {"--out", "--output-dir"},
    {"--resume", "--resume-from-checkpoint"},
    {"--prompt", "--start"},
    {"--length", "--tokens"},
    {"--length", "--max-new-tokens"},
    {"--threads", "--num-threads"},
    {"--listen", "--port"},
};

struct Advice {
  const char *foreign, *text;
};

constexpr Advice without_counterpart[] = {
    {"--epochs", "training is counted in steps: give --iterations"},
    {"--num-train-epochs", "training is counted in steps: give --iterations"},
    {"--device", "plimsoll computes on the processor; leave it out"},
    {"--ranks", "ranks are started by `mpirun -n N plimsoll train` or srun; leave it out"},
    {"--compile", "every step is planned and replayed anyway; leave it out"},
    {"--init-from", "give --resume RUN to go on with a run"},
    {"--lr-decay-iters", "the learning rate decays until the last of --iterations; leave it out"},
    {"--ptrace",
     "a process stopped anywhere may hold the allocator's lock, so nothing is put into it; start the program "
     "with "
     "`plimsoll profile --dormant -- CMD` to attach to it later"},
    {"--decay-lr", "give --min-lr with the value of --lr for a constant learning rate"},
};

}  // namespace

std::string counterpart(std::string_view foreign) {
  for (const Name& name : counterparts)
    if (foreign == name.foreign) return name.ours;
  return {};
}

std::vector<std::string> foreign_names(const std::vector<std::string>& ours) {
  std::vector<std::string> names;
  for (const Name& name : counterparts)
    if (std::find(ours.begin(), ours.end(), name.ours) != ours.end()) names.emplace_back(name.foreign);
  return names;
}

std::string advice_on(std::string_view foreign) {
  for (const Advice& advice : without_counterpart)
    if (foreign == advice.foreign) return advice.text;
  return {};
}

}  // namespace plimsoll::cli
