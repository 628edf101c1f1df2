// Runs the real program and keeps what it wrote, how it ended and how much memory it took.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace plinth::cli {

struct RunOptions {
  std::string input;                                          // standard input, through a pipe
  std::vector<std::pair<std::string, std::string>> settings;  // environment variables
  std::string folder;                                         // where it runs; empty: here
  std::string output_file;                                    // standard output goes here instead of a pipe
  bool close_output = false;                                  // nobody reads standard output
  bool without_output = false, without_error = false;         // the descriptors are not even open
  bool on_terminal = false;                                   // all three are a terminal of 100 columns
  int64_t file_bytes = 0;                                     // limit of every file written; 0: none
  int64_t memory_bytes = 0;                                   // limit of its address space; 0: none
  // Called every 10 ms while it runs, with its process id.
  std::function<void(int)> meanwhile;
};

struct RunResult {
  int exit_code = 0;  // 128 + signal where a signal ended it
  std::string out, err;
  int64_t peak_bytes = 0;  // of memory, looked at every 10 ms
};

// `arguments` follow the program's name. On a terminal all it writes is in `out`.
RunResult RunPlinth(const std::vector<std::string>& arguments, const RunOptions& options = {});

}  // namespace plinth::cli
