// A helper process beside this one: it is not a child of any process of ours, keeps only the descriptors it
// was given, and does not receive the terminal's signals.
#pragma once
#include <functional>

namespace plimsoll::platform {

struct DetachedOptions {
  const char* name;      // as `ps` shows it
  int nice = 0;          // how far it steps back behind others
  int keep[2] = {0, 0};  // the descriptors it keeps open; all others are closed
};
// Runs `work` there and ends that process with it. Call before there are threads. It is forked twice, so it is not
// part of a tree that is watched or waited for. 0, or an errno code.
int run_detached(const DetachedOptions& options, const std::function<void()>& work);

}  // namespace plimsoll::platform
