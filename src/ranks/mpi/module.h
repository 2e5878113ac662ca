/* What a module built against one MPI library offers the program, which is not linked with any. Plain C, so that neither
   side depends on the other's compiler. Every function returns 0, or a code that `error` turns into text. */
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { plimsoll_mpi_version = 2 };

struct plimsoll_mpi {
  int version;
  int (*start)(int* rank, int* size);
  /* Begin a transfer; `ticket` names it until it is done. */
  int (*send)(int to, const void* data, size_t bytes, int* ticket);
  int (*receive)(int from, void* data, size_t bytes, int* ticket);
  /* Whether it is done, and if so the ticket is free again. */
  int (*done)(int ticket, int* flag);
  int (*progress)(void); /* lets transfers go on that nobody asks about */
  int (*finish)(void);
  void (*library)(char* text, size_t size); /* its name and version */
  void (*error)(int code, char* text, size_t size);
};

/* The one symbol of a module. */
const struct plimsoll_mpi* plimsoll_mpi_table(void);

#ifdef __cplusplus
}
#endif
