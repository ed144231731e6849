// What an action says when it fails, for tests of messages.
#pragma once

#include <string>

#include "base/error.h"

namespace bertrain {

template <class Action>
std::string message_of(Action act) {
  try {
    act();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace bertrain
