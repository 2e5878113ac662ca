// save() does not allocate: counted by the malloc hook in every thread.
#include <cerrno>

#include "checkpoint/fixture.hpp"
#include "platform/allocations.hpp"

namespace plimsoll {
namespace {

TEST(Allocation, SavingReplacingRemovingAndFailingAllocateNothing) {
  if (!allocations_counted()) GTEST_SKIP() << "a sanitizer has a malloc of its own";
  for (bool background : {false, true}) {
    TemporaryFolder run("/dev/shm/");
    Weights weights;
    CheckpointStore store(run.path);
    weights.prepare(store, background);
    std::string state(900, ' ');
    const uint64_t before = allocations();
    for (uint64_t step = 1; step <= 8; ++step) store.save(step, state, step == 2);
    store.save(8, state, true);
    store.wait();
    bool failed = store.take_error().has_value();
    set_file_hook([](FileOperation operation, const char*, size_t*) {
      return operation == FileOperation::sync ? EIO : 0;
    });
    store.save(9, state, true);
    store.wait();
    const uint64_t after = allocations();
    set_file_hook(nullptr);
    EXPECT_EQ(after - before, 0u);
    EXPECT_FALSE(failed);
    EXPECT_TRUE(store.take_error().has_value());
    EXPECT_EQ(steps_in(run.path).size(), 3u);
  }
}

}  // namespace
}  // namespace plimsoll
