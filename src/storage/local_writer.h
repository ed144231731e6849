// How a local file comes to be: written aside, synced to the device, then renamed, so that it is
// there whole or not.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "storage/storage.h"

namespace bertrain {

std::unique_ptr<Writer> write_local(std::string_view path, Exists exists);

// True for the hidden name of a file that is being written (".NAME.PID-COUNT.partial").
bool is_partial_name(std::string_view file_name);

// SIGTERM, SIGINT and SIGHUP, where they would end the process, first remove the hidden files of
// writers that have not committed.
void remove_partial_files_on_signals();

}  // namespace bertrain
