// GPU memory by process, from NVIDIA's or AMD's library if one can be opened at run time; otherwise an object
// that says so.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace plimsoll::gpu {

class Gpu {
 public:
  virtual ~Gpu() = default;
  virtual bool present() const = 0;
  virtual std::string description() const = 0;
  // Bytes by pid, summed over devices, of those of `pids` that use one.
  virtual std::map<int, uint64_t> memory_by_process(std::span<const int> pids) const = 0;
};

// Never fails: without a library or a device the result is the stub.
std::unique_ptr<Gpu> open_gpu(const char* nvml = "libnvidia-ml.so.1",
                              const char* rocm_smi = "librocm_smi64.so");

}  // namespace plimsoll::gpu
