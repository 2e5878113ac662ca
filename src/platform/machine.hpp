// Information from the kernel about the machine and about this process.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace plimsoll::platform {

std::string host_name();            // empty where it is not known
std::string machine_description();  // "Linux 6.1.0 x86_64, 8 processors, 16 GB"
int usable_processors();            // those this process may run on; at least 1
int processors();                   // those of the machine that are switched on; at least 1

int own_pid();
[[noreturn]] void leave_at_once(int code);  // nothing is run or written any more
unsigned user_id();                         // whose files this process makes
std::filesystem::path own_program();        // empty where it is not known
bool process_lives(int pid);                // a zombie does; whoever it belongs to
double seconds_since_process_start();
// Gives the allocator's free pages back to the kernel.
void release_free_memory();

}  // namespace plimsoll::platform
