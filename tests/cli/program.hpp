// Runs the built program as a shell would and keeps what it said.
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace plimsoll::cli {

struct Outcome {
  std::string out, error;
  int code;
};

inline std::string contents(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Runs the program with arguments (and variables before it).
inline Outcome plimsoll(const std::string& arguments, const std::string& variables = "") {
  char folder[] = "/tmp/plimsoll-cli-XXXXXX";
  std::string at = mkdtemp(folder);
  std::string command =
      variables + " " PLIMSOLL_BINARY " " + arguments + " >" + at + "/out 2>" + at + "/error";
  int status = std::system(command.c_str());
  Outcome outcome{contents(at + "/out"), contents(at + "/error"),
                  WIFEXITED(status) ? WEXITSTATUS(status) : -1};
  std::remove((at + "/out").c_str());
  std::remove((at + "/error").c_str());
  std::remove(at.c_str());
  return outcome;
}

// One line on the error stream, nothing else, code 2.
inline void expect_refused(const std::string& arguments, const std::string& part) {
  Outcome outcome = plimsoll(arguments);
  EXPECT_EQ(outcome.code, 2) << arguments;
  EXPECT_EQ(outcome.out, "") << arguments;
  EXPECT_NE(outcome.error.find(part), std::string::npos) << arguments << ": " << outcome.error;
  EXPECT_EQ(outcome.error.find('\n'), outcome.error.size() - 1) << arguments << ": " << outcome.error;
}

}  // namespace plimsoll::cli
