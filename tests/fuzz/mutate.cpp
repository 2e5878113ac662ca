// Runs a fuzz target without libFuzzer: on the corpus, then on mutations of it, always the same ones. Without
// coverage feedback it finds less, but it needs no special compiler and runs with the other tests.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/random.hpp"
#include "fmt/format.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

Bytes input;  // what the target is looking at

// The target gave up: keep its input and let the signal end the process.
void keep_input(int) {
  const int file = open("mutant.bin", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const char said[] = "the input is in mutant.bin\n";
  if (file < 0 || write(file, input.data(), input.size()) < 0 || write(2, said, sizeof said - 1) < 0) return;
}

std::vector<Bytes> read_corpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_directory(folder))
    for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> corpus = {{}, {'{', '}'}, {0xc3, 0xa4, 'a', '\n'}};
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

// Values parsers stumble over, next to arbitrary ones.
uint8_t odd_byte(uint64_t bits) {
  constexpr uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xc0, 0xff, '"', '\\', '{', '}', '[', ']', ',', ':', '-', '9'};
  return bits & 1 ? odd[bits >> 1 & 15] : uint8_t(bits >> 8);
}

void mutate(Bytes& bytes, const std::vector<Bytes>& corpus, plimsoll::CounterRng rng, uint64_t& counter) {
  auto below = [&](size_t n) { return size_t(rng.below(counter++, n)); };
  auto at = [&] { return bytes.begin() + long(below(bytes.size() + 1)); };
  switch (bytes.empty() ? 1 : below(6)) {
    case 0:
      bytes[below(bytes.size())] ^= uint8_t(1 << below(8));
      break;
    case 1:
      bytes.insert(at(), odd_byte(rng.bits(counter++)));
      break;
    case 2:
      bytes[below(bytes.size())] = odd_byte(rng.bits(counter++));
      break;
    case 3:
      bytes.erase(at(), bytes.end());
      break;
    case 4: {  // a piece of its own, again or away
      auto a = at(), b = at();
      if (b < a) std::swap(a, b);
      const Bytes piece(a, b);
      if (below(2) && bytes.size() < 100'000)
        bytes.insert(at(), piece.begin(), piece.end());
      else
        bytes.erase(a, b);
      break;
    }
    default: {  // the tail of another
      const Bytes& other = corpus[below(corpus.size())];
      bytes.erase(at(), bytes.end());
      bytes.insert(bytes.end(), other.begin() + long(below(other.size() + 1)), other.end());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return fmt::print(stderr, "usage: {} CORPUS MUTANTS\n", argv[0]), 2;
  for (int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS}) {
    struct sigaction action = {};
    action.sa_handler = keep_input;
    action.sa_flags = int(SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
  const std::vector<Bytes> corpus = read_corpus(argv[1]);
  for (const Bytes& seed : corpus) {
    input = seed;
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  const uint64_t mutants = std::strtoull(argv[2], nullptr, 10);
  const plimsoll::CounterRng rng(1, plimsoll::Stream::shuffle);
  uint64_t counter = 0;
  for (uint64_t i = 0; i < mutants; ++i) {
    input = corpus[rng.below(counter++, corpus.size())];
    for (uint64_t times = 1 + rng.below(counter++, 5); times > 0; --times)
      mutate(input, corpus, rng, counter);
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  fmt::print("{} inputs of the corpus and {} mutants\n", corpus.size(), mutants);
}
