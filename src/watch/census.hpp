// A census taken by a running Python program of what lives in it, asked for from outside (docs/python.md).
#pragma once
#include <string>

#include "platform/proc.hpp"

namespace plimsoll::watch {

struct CensusOptions {
  int pid = 0;
  double budget = 0.05;  // seconds the program may spend on it
  double patience = 60;  // seconds to wait for its next step
  bool json = false;
  proc::Roots roots = {};
};

// As text, or one line of JSON. InputError where the process does not use the package or does not answer.
std::string ask_census(const CensusOptions& options);

}  // namespace plimsoll::watch
