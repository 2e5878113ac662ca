#include "ranks/mpi_communicator.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include "platform/clock.hpp"
#include "platform/descriptors.hpp"
#include "platform/library.hpp"
#include "platform/machine.hpp"
#include "ranks/mpi/module.h"
#include "ranks/neighbours.hpp"
#include "ranks/vigil.hpp"

namespace plimsoll::ranks {
namespace {

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(const plimsoll_mpi* mpi) : mpi_(mpi) {
    check(mpi_->start(&rank_, &size_), "starting");
    std::array<char, 128> text{};
    mpi_->library(text.data(), text.size());
    library_ = text.data();
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string library() const override { return library_; }

  // Tickets of neighbours are the odd numbers.
  int send(int to, const void* data, size_t bytes) override {
    if (near_ && near_->has(to)) return 2 * near_->send(to, data, bytes) + 1;
    int ticket = -1;
    check(mpi_->send(to, data, bytes, &ticket), "sending");
    ++on_their_way_;
    return 2 * ticket;
  }
  int receive(int from, void* data, size_t bytes) override {
    if (near_ && near_->has(from)) return 2 * near_->receive(from, data, bytes) + 1;
    int ticket = -1;
    check(mpi_->receive(from, data, bytes, &ticket), "receiving");
    ++on_their_way_;
    return 2 * ticket;
  }
  bool done(int ticket) override {
    const bool is_done = ticket % 2 ? near_done(ticket / 2) : far_done(ticket / 2);
    if (!is_done && vigil_ && vigil_->lost()) throw RankLost(vigil_->what());
    return is_done;
  }
  int near() const override { return near_ ? near_->count() : 1; }
  void finish() override {
    if (vigil_) vigil_->finish();
    Team(this).meet();  // nobody leaves while another one still watches
    vigil_.reset();
    check(mpi_->finish(), "finishing");
  }
  void set_advice(std::string advice) override {
    if (vigil_) vigil_->set_advice(std::move(advice));
  }
  // Whether losing a rank will be noticed.
  bool begin_vigil() {
    vigil_ = Vigil::begin(Team(this));
    return vigil_ != nullptr;
  }
  // From here on messages within a machine are not MPI's.
  void begin_neighbours(bool wanted) {
    near_ = Neighbours::begin(Team(this), wanted);
    // Some 30 microseconds, where everybody has a core: waking up takes as long.
    looks_awake_ = near() <= platform::processors() ? 500 : 0;
    if (near_) library_ += near() == size_ ? ", copied in memory" : ", copied in memory within a machine";
  }

 private:
  bool near_done(int ticket) {
    // MPI goes on with a transfer only while it is called, and another rank may wait for that one.
    if (on_their_way_ > 0) check(mpi_->progress(), "waiting for a message");
    try {
      return near_->done(ticket);
    } catch (const RankLost& lost) {
      lose(lost.what());
    }
  }
  bool far_done(int ticket) {
    int flag = 0;
    check(mpi_->done(ticket, &flag), "waiting for a message");
    on_their_way_ -= flag != 0;
    return flag != 0;
  }
  uint32_t hear() override { return near_ ? near_->heard() : 0; }
  // A neighbour wakes whom it has something for, so there is no need to yield: on a busy core, that may take milliseconds.
  void rest(int looks, uint32_t heard) override {
    constexpr double until_vigil_is_asked = 0.05;
    if (!near_ || on_their_way_ > 0)
      Communicator::rest(looks, heard);
    else if (looks >= looks_awake_)
      near_->sleep(heard, until_vigil_is_asked);
  }
  void check(int code, const char* doing) const {
    if (code == 0) return;
    std::array<char, 512> text{};
    mpi_->error(code, text.data(), text.size());
    lose(fmt::format("[ranks] rank {} of {}: {} failed: {}", rank_, size_, doing, text.data()));
  }
  // A broken connection is seen here first; who is gone is known a moment later.
  [[noreturn]] void lose(const std::string& what) const {
    for (int i = 0; vigil_ && i < 100 && !vigil_->lost(); ++i) platform::sleep_seconds(0.02);
    throw RankLost(vigil_ && vigil_->lost() ? vigil_->what() : what);
  }

  const plimsoll_mpi* mpi_;
  int rank_ = 0, size_ = 1;
  std::string library_;
  int on_their_way_ = 0;  // transfers by MPI
  int looks_awake_ = 0;   // before sleeping
  std::unique_ptr<Vigil> vigil_;
  std::unique_ptr<Neighbours> near_;
};

// Where modules are: beside the program in a build folder, else where they are installed.
const plimsoll_mpi* open_module(const std::string& name) {
  const std::string file = "libplimsoll_" + name + ".so";
  const auto program = platform::own_program().parent_path();
  for (const auto& path :
       {program / file, program / "../lib/plimsoll" / file, std::filesystem::path(PLIMSOLL_LIBDIR) / file}) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    // MPI opens parts of its own, which look for its symbols.
    platform::Library module(path.c_str(), platform::Library::Symbols::everywhere);
    const auto table = module.find<decltype(plimsoll_mpi_table)>("plimsoll_mpi_table");
    if (!table) continue;
    module.keep();
    const plimsoll_mpi* mpi = table();
    if (mpi->version == plimsoll_mpi_version) return mpi;
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<Communicator> open_communicator(const Launch& launch) {
  if (!launch.parallel() || launch.launcher == "torchrun") return nullptr;
  // Slurm sets up either of them; which one this is cannot be seen.
  std::vector<std::string> names = launch.launcher == "MPICH"   ? std::vector<std::string>{"mpich"}
                                   : launch.launcher == "Slurm" ? std::vector<std::string>{"openmpi", "mpich"}
                                                                : std::vector<std::string>{"openmpi"};
  if (const char* wanted = std::getenv("PLIMSOLL_MPI"); wanted && *wanted) names = {wanted};
  for (const std::string& name : names)
    if (const plimsoll_mpi* mpi = open_module(name)) {
      auto communicator = std::make_unique<MpiCommunicator>(mpi);
      if (communicator->size() != launch.size)
        fail_input(
            "{} started {} ranks but {} sees {}; use the launcher of the same MPI, or set PLIMSOLL_MPI to "
            "openmpi or mpich",
            launch.launcher, launch.size, communicator->library(), communicator->size());
      if (!communicator->begin_vigil() && launch.rank == 0)
        platform::write_all(
            platform::standard_error,
            "plimsoll: note: the ranks cannot connect to rank 0 by TCP; a rank that is lost will not be "
            "noticed\n");
      const char* near = std::getenv("PLIMSOLL_NEAR");
      communicator->begin_neighbours(!near || std::string_view(near) != "off");
      return communicator;
    }
  fail_input(
      "{} started {} ranks, but this program was built without a module for its MPI ({}); install "
      "libopenmpi-dev or libmpich-dev and build again, or start one process",
      launch.launcher, launch.size, names.front());
}

}  // namespace plimsoll::ranks
