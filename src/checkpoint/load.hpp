// Finds checkpoints, verifies that they are intact, and loads them completely or not at all.
//
//   WholeCheckpoint found = newest_whole(resolve(path));         // reads every byte; damaged ones are warned
//   of build the model from found.state; then load(found.checkpoint, model_slots, optimizer_slots);
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/safetensors.hpp"

namespace plimsoll {

struct Checkpoint {
  std::filesystem::path folder;
  uint64_t step = 0;
};

// A checkpoint all of whose bytes were right when they were read.
struct WholeCheckpoint {
  Checkpoint checkpoint;
  std::string state;                  // the text given to save()
  std::vector<std::string> warnings;  // one line for each newer checkpoint that is damaged
};

// The checkpoints of a run folder, newest first; none when there is no such folder. They are not looked into.
std::vector<Checkpoint> list_checkpoints(const std::filesystem::path& run_folder);
// What a path given by a person means, newest first: a run folder's checkpoints, or a checkpoint (or a file
// in one) and those before it. InputError when there is none.
std::vector<Checkpoint> resolve(const std::filesystem::path& path);
// The first candidate that is whole; InputError naming what is damaged when none is.
WholeCheckpoint newest_whole(std::span<const Checkpoint> candidates);

// Reads and checks everything through a small buffer; InputError naming the file and tensor that is damaged.
void verify(const Checkpoint& checkpoint);
// The checked text of state.json; InputError when it is damaged.
std::string read_state(const std::filesystem::path& folder);
// Reads straight into the slots, checking as it goes; an empty `optimizer` leaves that file alone. InputError
// when damaged, or when it is a checkpoint of another model, found before a slot is touched. After damage
// found on the way the slots hold nothing of use.
void load(const Checkpoint& checkpoint, std::span<const TensorSlot> model,
          std::span<const TensorSlot> optimizer = {});

}  // namespace plimsoll
