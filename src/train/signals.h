// SIGTERM, SIGINT and SIGHUP while a run trains: a request to save the state and leave, not an end.
#pragma once

namespace bertrain {

// Catches them while it lives (a SIGHUP that is ignored stays so, as under nohup), and gives them their
// earlier meaning back after. The first signal sets the request; a second SIGINT ends the process
// at once, as an impatient user expects. One at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  static int requested();  // the signal's number, 0 if none came
};

// Thrown where work is left undone because of a request; what was done before stands.
struct Stopped {};

// Throws Stopped if a request came. Called between micro-batches.
void leave_if_stopped();

// From now on, whoever listens to standard output or error may go without ending the process: for
// runs, whose log.txt has everything.
void ignore_broken_pipes();

}  // namespace bertrain
