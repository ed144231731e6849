// Values on a plugin's devices: waiting to be sent, alone in their buffers, or one layer of a stack.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/pjrt/client.h"

namespace bertrain {

// One array in the memory of each device: equal on all of them, or each device's part.
struct Stored {
  ArrayType type;  // on one device
  Placement placement = Placement::replicate;
  std::vector<std::unique_ptr<PjrtBuffer>> buffers;  // by device
  bool dead = false;                                 // an output took its memory
};

struct PjrtArray : DeviceArray {
  Placement placement = Placement::replicate;
  std::shared_ptr<const ArrayType> whole;  // of this process: split parts one after the other
  std::optional<Array> host;               // not sent yet: whoever needs it decides how
  std::shared_ptr<Stored> stored;
  std::optional<size_t> layer;  // of the stack that `stored` is
  bool dead = false;

  const ArrayType& type() const override { return *whole; }
};
using PjrtArrays = std::vector<PjrtArray*>;

// Moves values between host and devices, and in and out of stacks.
class Shelf {
 public:
  Shelf(std::shared_ptr<PjrtClient> client) : client_(std::move(client)) {}

  PjrtClient& client() { return *client_; }
  int devices() const { return client_->devices(); }

  // Split values leave for the devices at once; replicated ones wait, as they may travel in a stack.
  // Throws Error when a split value's first axis is no multiple of the devices.
  std::shared_ptr<DeviceArray> put(const Array& value, Placement placement);
  Array get(const PjrtArray& array);  // waits

  // For all devices. The latest programs are kept, so that a run and its repetition on one backend
  // do not compile the same text twice.
  std::shared_ptr<PjrtExecutable> compile(const std::string& text);

  // The buffers of one array, sent or cut out of its stack where that is yet to be done.
  std::shared_ptr<Stored> alone(PjrtArray& array);
  // The buffers of arrays of one type as a stack, which they are from now on.
  std::shared_ptr<Stored> stack(const PjrtArrays& layers);

 private:
  std::shared_ptr<Stored> send(const Array& value, Placement placement);
  std::shared_ptr<Stored> cut(const Stored& stack, size_t layer);
  std::shared_ptr<Stored> join(const PjrtArrays& layers);
  std::shared_ptr<Stored> run(const std::string& text, const std::vector<const Stored*>& inputs,
                              const ArrayType& type, Placement placement);

  std::shared_ptr<PjrtClient> client_;
  std::list<std::pair<std::string, std::shared_ptr<PjrtExecutable>>> compiled_;  // latest first
  Named<std::unique_ptr<PjrtExecutable>> moves_;  // by text: few and small, one for each type
};

// The array as one of this backend's that is alive: both are checked.
PjrtArray& alive(DeviceArray& array);
void require_alive(const PjrtArray& array);

}  // namespace bertrain
