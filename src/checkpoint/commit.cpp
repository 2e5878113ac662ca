#include "checkpoint/commit.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace plimsoll {

RunFolder::RunFolder(const std::filesystem::path& path, std::optional<uint64_t> resumed_step, int keep_last)
    : keep_last_(static_cast<size_t>(std::max(keep_last, 1))) {
  std::error_code made;
  std::filesystem::create_directories(path, made);
  if (made)
    fail_input("cannot create the run folder '{}': {}; choose another --out", path.string(), made.message());
  folder_ = Folder(path);
  if (const int code = may_write(path))
    fail_input("cannot write into the run folder '{}': {}; choose another --out", path.string(),
               error_text(code));
  if (!folder_.lock())
    fail_input("the run folder '{}' is in use by another process; stop that or choose another --out",
               path.string());
  scan(path, resumed_step);
}

// Sweeps what a crash left behind and takes stock of what is there.
void RunFolder::scan(const std::filesystem::path& path, std::optional<uint64_t> resumed_step) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    names.push_back(entry.path().filename().string());
  for (const std::string& name : names) {
    if (step_of(name, ".", ".tmp")) (void)discard(name.c_str());
    // Moved aside by a commit: back into its place if that commit was cut off.
    if (auto step = step_of(name, ".", ".old");
        step && folder_.rename(name.c_str(), StepName(*step).text()) != 0)
      (void)discard(name.c_str());
  }
  for (const auto& entry : std::filesystem::directory_iterator(path))
    if (auto step = step_of(entry.path().filename().string()))
      kept_.push_back({*step, !resumed_step || *step > *resumed_step, false});
  kept_.reserve(kept_.size() + keep_last_ + 2);
  std::sort(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.step < b.step; });
  if (!resumed_step || !folder_.has(StepName(*resumed_step).text())) return;
  last_ = resumed_step;
  best_ = read_manifest(path / StepName(*resumed_step).text()).best_step;
  if (best_ && !folder_.has(StepName(*best_).text())) best_.reset();
}

// Removes the files of a checkpoint and its folder; files of other names are not ours and keep the folder
// alive.
int RunFolder::discard(const char* name) {
  Folder inside;
  int code = inside.open(folder_, name);
  if (code == ENOENT) return 0;
  if (code) return code;
  for (const char* file : checkpoint_files)
    if (code = inside.remove_file(file); code && code != ENOENT) return code;
  return folder_.remove_folder(name);
}

Failure RunFolder::begin(uint64_t step, Folder& temporary) {
  StepName name(step, ".", ".tmp");
  if (int code = discard(name.text())) return {code, "clearing", "its temporary folder"};
  int code = folder_.make(name.text());
  if (!code) code = temporary.open(folder_, name.text());
  return {code, "making", "its temporary folder"};
}

void RunFolder::abandon(uint64_t step) { (void)discard(StepName(step, ".", ".tmp").text()); }

Failure RunFolder::commit(uint64_t step, std::optional<uint64_t> best) {
  StepName temporary(step, ".", ".tmp"), final(step), aside(step, ".", ".old");
  int code = folder_.rename(temporary.text(), final.text());
  if (code == ENOTEMPTY || code == EEXIST) {
    // A checkpoint of this step is there already. Where the two cannot be swapped at once, scan() heals the
    // moment between.
    code = folder_.exchange(temporary.text(), final.text());
    if (code == EINVAL || code == ENOSYS) {
      code = folder_.rename(final.text(), aside.text());
      if (!code) code = folder_.rename(temporary.text(), final.text());
    }
  }
  if (code) {
    abandon(step);
    return {code, "renaming", "its temporary folder"};
  }
  std::erase_if(kept_, [step](const Kept& each) { return each.step == step; });
  // Full only if removing has failed again and again: the oldest is then left to the next start.
  if (kept_.size() == kept_.capacity()) kept_.erase(kept_.begin());
  auto after =
      std::find_if(kept_.begin(), kept_.end(), [step](const Kept& each) { return each.step > step; });
  kept_.insert(after, Kept{step, false, false});
  if (int synced = folder_.sync()) return {synced, "syncing", "the run folder"};
  last_ = step;
  best_ = best;
  abandon(step);  // what a swap left under the temporary name
  (void)discard(aside.text());
  return {};
}

// The names go first, all at once and durably: a checkpoint is never seen half removed.
Failure RunFolder::retain() {
  size_t current = 0;
  bool any = false;
  for (auto each = kept_.rbegin(); each != kept_.rend(); ++each) {
    bool stays = !each->superseded && (current++ < keep_last_ || each->step == best_);
    if (stays || each->step == last_) continue;
    int code = folder_.rename(StepName(each->step).text(), StepName(each->step, ".", ".tmp").text());
    if (code && code != ENOENT) return {code, "removing", "an old checkpoint"};
    each->leaving = any = true;
  }
  if (!any) return {};
  int code = folder_.sync();
  for (const Kept& each : kept_)
    if (int removed = each.leaving && !code ? discard(StepName(each.step, ".", ".tmp").text()) : 0)
      code = removed;
  std::erase_if(kept_, [](const Kept& each) { return each.leaving; });
  return {code, "removing", "an old checkpoint"};
}

}  // namespace plimsoll
