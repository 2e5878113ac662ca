// `plimsoll export`: what a run has learned, in the forms other programs read.
#include "train/export.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "cli/command.hpp"

namespace plimsoll::cli::export_command {
namespace {

std::string path, model, peft, merged, dtype = "same";
bool as_json = false;

void run() {
  if (peft.empty() == merged.empty()) fail_input("give either --peft DIR or --merged DIR");
  if (!peft.empty() && dtype != "same") fail_input("--dtype goes with --merged DIR; an adapter is f32");
  const SavedModel saved = find_model(path, model);
  for (const std::string& note : saved.notes) fmt::print(stderr, "note: {}\n", note);
  if (!peft.empty())
    export_peft(saved, peft);
  else
    export_merged(saved, merged,
                  dtype == "f32"    ? std::optional(DType::f32)
                  : dtype == "bf16" ? std::optional(DType::bf16)
                  : dtype == "f16"  ? std::optional(DType::f16)
                                    : std::nullopt);
  const std::string& folder = peft.empty() ? merged : peft;
  if (as_json)
    fmt::print("{}\n", nlohmann::ordered_json{{"out", folder}, {"step", saved.checkpoint->step}}.dump());
  else
    fmt::print("Written: {} (step {})\n", folder, saved.checkpoint->step);
}

Command command(
    45, "export", "write a fine-tuned model for other programs",
    "plimsoll export runs/mine --peft adapter\n  plimsoll export runs/mine --merged model --dtype bf16",
    [](Options& options) {
      options.value("run", path, "run folder or checkpoint").needed().wants("RUN");
      options
          .value("--model", model,
                 "folder of the model the run started from, where it is not what the run names")
          .wants("DIR");
      options.value("--peft", peft, "write the adapters for PEFT into this new folder").wants("DIR");
      options.value("--merged", merged, "write the whole model for transformers into this new folder")
          .wants("DIR");
      options.value("--dtype", dtype, "with --merged: element type of the weights; same: as published")
          .one_of({"same", "f32", "bf16", "f16"});
      options.flag("--json", as_json, "print one JSON object");
      options.run(run);
    });

}  // namespace
}  // namespace plimsoll::cli::export_command
