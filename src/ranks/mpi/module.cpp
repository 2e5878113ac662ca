// The module: MPI's point-to-point messages behind a table of functions. Compiled once for each MPI library that is installed;
// one thread at a time may call it.
#include "ranks/mpi/module.h"

#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace {

constexpr int tag = 0;  // one: messages between two ranks keep their order

// A ticket is a place in here. It grows to as many as are ever under way at once.
std::vector<MPI_Request>& requests() {
  static std::vector<MPI_Request> all;
  return all;
}
std::vector<int>& unused() {
  static std::vector<int> all;
  return all;
}

int take_ticket() {
  if (unused().empty()) {
    unused().push_back(int(requests().size()));
    requests().push_back(MPI_REQUEST_NULL);
    unused().reserve(requests().capacity());
  }
  const int ticket = unused().back();
  unused().pop_back();
  return ticket;
}

int start(int* rank, int* size) {
  int provided = 0;
  if (const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided)) return code;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (const int code = MPI_Comm_rank(MPI_COMM_WORLD, rank)) return code;
  return MPI_Comm_size(MPI_COMM_WORLD, size);
}

int send(int to, const void* data, size_t bytes, int* ticket) {
  *ticket = take_ticket();
  return MPI_Isend(data, int(bytes), MPI_BYTE, to, tag, MPI_COMM_WORLD, &requests()[size_t(*ticket)]);
}

int receive(int from, void* data, size_t bytes, int* ticket) {
  *ticket = take_ticket();
  return MPI_Irecv(data, int(bytes), MPI_BYTE, from, tag, MPI_COMM_WORLD, &requests()[size_t(*ticket)]);
}

int done(int ticket, int* flag) {
  const int code = MPI_Test(&requests()[size_t(ticket)], flag, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS && *flag) unused().push_back(ticket);
  return code;
}

int progress() {
  int flag = 0;
  return MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

void library(char* text, size_t size) {
  char all[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(all, &length);
  // "Open MPI v4.1.4, package: ..." or "MPICH Version:\t4.0.2\n...": the first words will do.
  for (char* c = all; *c; ++c) {
    if (*c == '\t') *c = ' ';
    if (*c == ',' || *c == '\n') *c = 0;
  }
  std::snprintf(text, size, "%s", all);
}

void error(int code, char* text, size_t size) {
  char all[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, all, &length);
  std::snprintf(text, size, "%s", all);
}

constexpr plimsoll_mpi table{plimsoll_mpi_version, start,   send, receive, done, progress,
                             MPI_Finalize,         library, error};

}  // namespace

extern "C" __attribute__((visibility("default"))) const plimsoll_mpi* plimsoll_mpi_table() { return &table; }
