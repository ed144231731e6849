// All of the PJRT runtime, below the text of a program: clients, buffers, executables, topologies.
#pragma once

#include "backend/pjrt/buffer.h"      // IWYU pragma: export
#include "backend/pjrt/client.h"      // IWYU pragma: export
#include "backend/pjrt/executable.h"  // IWYU pragma: export
#include "backend/pjrt/topology.h"    // IWYU pragma: export
