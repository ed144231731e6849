// The command table, and how an error becomes a line and an exit code.
#include "cli/command.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/machine.h"
#include "cli/convert_command.h"
#include "cli/devices_command.h"
#include "cli/doctor_command.h"
#include "cli/embed_command.h"
#include "cli/evaluate_command.h"
#include "cli/finetune_command.h"
#include "cli/inspect_command.h"
#include "cli/options.h"
#include "cli/plan_command.h"
#include "cli/predict_command.h"
#include "cli/prepare_command.h"
#include "cli/pretrain_command.h"
#include "cli/squad_score_commands.h"
#include "cli/tokenize_command.h"
#include "cli/vocab_command.h"
#include "storage/local_writer.h"
#include "storage/standard_streams.h"
#include "text/unicode.h"

namespace bertrain {
namespace {

constexpr std::string_view kVersion = "bertrain 0.1.0";

const Command kVersionCommand = {
    "version", "prints the version", "bertrain version",
    [](Args, std::ostream& out) { out << kVersion << " (Unicode " << kUnicodeVersion << ")\n"; }};

// In the order of the journey; each is defined in its own file.
const Command* const kCommands[] = {
    &kVocabCommand,    &kTokenizeCommand,     &kPrepareCommand,      &kPretrainCommand,
    &kFinetuneCommand, &kEvaluateCommand,     &kPredictCommand,      &kEmbedCommand,
    &kInspectCommand,  &kConvertCommand,      &kPlanCommand,         &kDevicesCommand,
    &kDoctorCommand,   &kScoreSquadV1Command, &kScoreSquadV2Command, &kVersionCommand,
};

void print_commands(std::ostream& out) {
  out << kVersion
      << ": from raw text to an evaluated BERT\n\nusage: bertrain COMMAND [--flag=value ...]\n\n";
  for (const Command* c : kCommands) out << fmt::format("  {:<16} {}\n", c->name, c->summary);
  out << "\nbertrain COMMAND --help shows a command's flags.\n";
}

void run_command(Args args) {
  if (args.empty() || args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    return print_commands(std::cout);
  }
  std::string_view name = args[0] == "--version" ? "version" : args[0];
  std::vector<std::string> names;
  for (const Command* c : kCommands) {
    if (c->name == name) return c->run(args.subspan(1), std::cout);
    names.emplace_back(c->name);
  }
  std::string near = nearest(name, names);
  throw usage_error("no command '{}'{}; bertrain --help lists the commands", name,
                    near.empty() ? "" : " (did you mean '" + near + "'?)");
}

}  // namespace

std::span<const Command* const> commands() { return kCommands; }

int run_program(Args args) {
  take_closed_streams();
  remove_partial_files_on_signals();
  use_threads(0);
  try {
    run_command(args);
    errno = 0;
    std::cout.flush();
    if (!std::cout) {
      throw error("standard output could not be written{}{}", errno ? ": " : "",
                  errno ? std::strerror(errno) : "");
    }
    return static_cast<int>(ExitCode::done);
  } catch (const Error& e) {
    log_line("bertrain: {}", e.what());
    return static_cast<int>(e.code());
  } catch (const std::bad_alloc&) {
    log_line(
        "bertrain: out of memory: the system gave no more; --memory, a smaller batch or a smaller "
        "input need less, a limit (ulimit -v, a cgroup) may be raised");
    return static_cast<int>(ExitCode::failed);
  } catch (const std::filesystem::filesystem_error& e) {
    log_line("bertrain: {}", e.what());
    return static_cast<int>(ExitCode::failed);
  } catch (const std::system_error& e) {
    log_line(
        "bertrain: the system refused a thread or another resource: {}; a limit on memory or "
        "processes (ulimit -v, -u, a cgroup) may be raised, or --threads lowered",
        e.what());
    return static_cast<int>(ExitCode::failed);
  } catch (const std::exception& e) {
    log_line("bertrain: this is a bug in bertrain: {}", e.what());
    return static_cast<int>(ExitCode::bug);
  }
}

}  // namespace bertrain
