#include "platform/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "platform/library.hpp"

namespace plimsoll::gpu {
namespace {

struct None final : Gpu {
  bool present() const override { return false; }
  std::string description() const override { return "no GPU library could be opened"; }
  std::map<int, uint64_t> memory_by_process(std::span<const int>) const override { return {}; }
};

// The layouts below are those of the libraries' stable C interfaces.
class Nvidia final : public Gpu {
 public:
  explicit Nvidia(const char* name) : library_(name) {
    auto start = library_.find<int()>("nvmlInit_v2");
    auto count = library_.find<int(unsigned*)>("nvmlDeviceGetCount_v2");
    auto device = library_.find<int(unsigned, void**)>("nvmlDeviceGetHandleByIndex_v2");
    processes_ = library_.find<int(void*, unsigned*, Entry*)>("nvmlDeviceGetComputeRunningProcesses_v3");
    if (!start || !count || !device || !processes_ || start() != 0) return;
    unsigned number = 0;
    if (count(&number) != 0) return;
    for (unsigned i = 0; i < number; ++i)
      if (void* handle = nullptr; device(i, &handle) == 0) devices_.push_back(handle);
  }
  ~Nvidia() override {
    if (auto stop = library_.find<int()>("nvmlShutdown"); stop && processes_) stop();
  }
  bool present() const override { return !devices_.empty(); }
  std::string description() const override { return fmt::format("NVIDIA, {} device(s)", devices_.size()); }
  std::map<int, uint64_t> memory_by_process(std::span<const int> pids) const override {
    std::map<int, uint64_t> bytes;
    for (void* device : devices_) {
      std::vector<Entry> entries(1024);
      unsigned count = unsigned(entries.size());
      if (processes_(device, &count, entries.data()) != 0) continue;
      for (unsigned i = 0; i < std::min<size_t>(count, entries.size()); ++i)
        if (std::find(pids.begin(), pids.end(), int(entries[i].pid)) != pids.end() &&
            entries[i].bytes != UINT64_MAX)
          bytes[int(entries[i].pid)] += entries[i].bytes;  // all ones would mean: not known
    }
    return bytes;
  }

 private:
  struct Entry {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
  };
  platform::Library library_;
  int (*processes_)(void*, unsigned*, Entry*) = nullptr;
  std::vector<void*> devices_;
};

class Amd final : public Gpu {
 public:
  explicit Amd(const char* name) : library_(name) {
    auto start = library_.find<int(uint64_t)>("rsmi_init");
    auto count = library_.find<int(uint32_t*)>("rsmi_num_monitor_devices");
    by_pid_ = library_.find<int(uint32_t, Entry*)>("rsmi_compute_process_info_by_pid_get");
    if (start && count && by_pid_ && start(0) == 0 && count(&devices_) != 0) devices_ = 0;
  }
  bool present() const override { return devices_ > 0; }
  std::string description() const override { return fmt::format("AMD, {} device(s)", devices_); }
  std::map<int, uint64_t> memory_by_process(std::span<const int> pids) const override {
    std::map<int, uint64_t> bytes;
    for (int pid : pids) {
      // The entry has grown at its end over versions: leave it room.
      alignas(Entry) unsigned char room[256] = {};
      auto* entry = reinterpret_cast<Entry*>(room);
      if (by_pid_(uint32_t(pid), entry) == 0 && int(entry->pid) == pid) bytes[pid] = entry->video_memory;
    }
    return bytes;
  }

 private:
  struct Entry {
    uint32_t pid, pasid;
    uint64_t video_memory, sdma;
    uint32_t occupancy;
  };
  platform::Library library_;
  int (*by_pid_)(uint32_t, Entry*) = nullptr;
  uint32_t devices_ = 0;
};

}  // namespace

std::unique_ptr<Gpu> open_gpu(const char* nvml, const char* rocm_smi) {
  if (auto gpu = std::make_unique<Nvidia>(nvml); gpu->present()) return gpu;
  // ROCm's library writes to stderr where the kernel has no driver for it.
  std::error_code error;
  if (std::filesystem::exists("/sys/class/kfd", error))
    if (auto gpu = std::make_unique<Amd>(rocm_smi); gpu->present()) return gpu;
  return std::make_unique<None>();
}

}  // namespace plimsoll::gpu
