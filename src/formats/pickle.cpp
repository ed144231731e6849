// The pickle machine: a stack, marks, and a memo of values; it builds values and runs nothing.
#include "formats/pickle.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace bertrain {
namespace {

// Some ten times what a checkpoint of a hundred thousand tensors has; a value is less than 100
// bytes, and a pickle of a few bytes must not grow to gigabytes.
constexpr size_t kMostValues = size_t{1} << 22;
constexpr size_t kMostMarks =
    10'000;  // lists within lists: Python's own recursion ends at a thousand
constexpr int kNewestProtocol = 5;

// Opcodes, by their names in Python's pickletools.
constexpr uint8_t kMark = '(', kStop = '.', kPop = '0', kPopMark = '1', kDup = '2', kBinFloat = 'G',
                  kBinInt = 'J', kBinInt1 = 'K', kBinInt2 = 'M', kNone = 'N', kBinPersId = 'Q',
                  kReduce = 'R', kBinString = 'T', kShortBinString = 'U', kBinUnicode = 'X',
                  kBinBytes = 'B', kShortBinBytes = 'C', kAppend = 'a', kBuild = 'b', kGlobal = 'c',
                  kDict = 'd', kEmptyDict = '}', kAppends = 'e', kGet = 'g', kBinGet = 'h',
                  kLongBinGet = 'j', kList = 'l', kEmptyList = ']', kPut = 'p', kBinPut = 'q',
                  kLongBinPut = 'r', kSetItem = 's', kTuple = 't', kEmptyTuple = ')',
                  kSetItems = 'u', kProto = 0x80, kNewObj = 0x81, kTuple1 = 0x85, kTuple2 = 0x86,
                  kTuple3 = 0x87, kNewTrue = 0x88, kNewFalse = 0x89, kLong1 = 0x8a, kLong4 = 0x8b,
                  kShortBinUnicode = 0x8c, kBinUnicode8 = 0x8d, kBinBytes8 = 0x8e, kEmptySet = 0x8f,
                  kAddItems = 0x90, kFrozenSet = 0x91, kNewObjEx = 0x92, kStackGlobal = 0x93,
                  kMemoize = 0x94, kFrame = 0x95, kByteArray8 = 0x96;

class Machine {
 public:
  Machine(std::string_view text, const CheckGlobal& check_global)
      : text_(text), check_global_(check_global) {}

  Pickle run() {
    for (;;) {
      op_at_ = at_;
      uint8_t op = static_cast<uint8_t>(take(1)[0]);
      if (op == kStop) break;
      if (!step_value(op) && !step_stack(op) && !step_memo(op) && !step_object(op)) {
        throw bad(fmt::format("opcode 0x{:02x} is not read", op));
      }
    }
    pickle_.root = pop();
    if (!stack_.empty() || !marks_.empty()) throw bad("values are left over at its end");
    pickle_.bytes = at_;
    return std::move(pickle_);
  }

 private:
  Error bad(std::string_view what) const { return error("pickle, byte {}: {}", op_at_, what); }

  std::string_view take(uint64_t bytes) {
    if (bytes > text_.size() - at_) {
      throw bad(fmt::format("truncated: {} bytes are missing", bytes - (text_.size() - at_)));
    }
    std::string_view taken = text_.substr(at_, bytes);
    at_ += bytes;
    return taken;
  }

  uint64_t number(int bytes) {
    std::string_view digits = take(static_cast<uint64_t>(bytes));
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; --i) {
      value = value << 8 | static_cast<unsigned char>(digits[static_cast<size_t>(i)]);
    }
    return value;
  }

  std::string_view line() {
    size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos) throw bad("truncated: the line does not end");
    std::string_view taken = take(end - at_);
    take(1);
    return taken;
  }

  PickleId add(PickleValue value) {
    if (pickle_.values.size() >= kMostValues) {
      throw bad(fmt::format("more than {} values", kMostValues));
    }
    pickle_.values.push_back(std::move(value));
    return static_cast<PickleId>(pickle_.values.size() - 1);
  }
  bool push(PickleKind kind, int64_t number = 0, std::string_view text = {},
            std::vector<PickleId> items = {}) {
    stack_.push_back(add({kind, number, std::string(text), std::move(items)}));
    return true;
  }

  bool push_again(PickleId id) {
    if (stack_.size() >= kMostValues) throw bad(fmt::format("more than {} values", kMostValues));
    stack_.push_back(id);
    return true;
  }

  // The values above the last mark are all that an operation may take.
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleId pop() {
    if (stack_.size() <= floor()) throw bad("a value is missing on the stack");
    PickleId id = stack_.back();
    stack_.pop_back();
    return id;
  }
  PickleId top() const {
    if (stack_.size() <= floor()) throw bad("a value is missing on the stack");
    return stack_.back();
  }
  std::vector<PickleId> pop_many(size_t count) {
    if (stack_.size() - floor() < count) throw bad("values are missing on the stack");
    std::vector<PickleId> items(stack_.end() - static_cast<ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return items;
  }
  std::vector<PickleId> pop_to_mark() {
    if (marks_.empty()) throw bad("a mark is missing on the stack");
    std::vector<PickleId> items = pop_many(stack_.size() - marks_.back());
    marks_.pop_back();
    return items;
  }

  // Numbers, texts, truth values.
  bool step_value(uint8_t op) {
    switch (op) {
      case kNone:
        return push(PickleKind::none);
      case kNewTrue:
      case kNewFalse:
        return push(PickleKind::boolean, op == kNewTrue);
      case kBinInt:
        return push(PickleKind::integer, static_cast<int32_t>(number(4)));
      case kBinInt1:
        return push(PickleKind::integer, static_cast<int64_t>(number(1)));
      case kBinInt2:
        return push(PickleKind::integer, static_cast<int64_t>(number(2)));
      case kLong1:
        return push_long(number(1));
      case kLong4:
        return push_long(number(4));
      case kBinFloat:
        return push(PickleKind::real, static_cast<int64_t>(number(8)));
      case kShortBinUnicode:
      case kShortBinString:  // Python 2's, whose texts are bytes
        return push(PickleKind::text, 0, take(number(1)));
      case kBinUnicode:
      case kBinString:
        return push(PickleKind::text, 0, take(number(4)));
      case kBinUnicode8:
        return push(PickleKind::text, 0, take(number(8)));
      case kShortBinBytes:
        return push(PickleKind::bytes, 0, take(number(1)));
      case kBinBytes:
        return push(PickleKind::bytes, 0, take(number(4)));
      case kBinBytes8:
      case kByteArray8:
        return push(PickleKind::bytes, 0, take(number(8)));
      default:
        return false;
    }
  }

  // Two's complement of any length.
  bool push_long(uint64_t bytes) {
    std::string_view digits = take(bytes);
    if (bytes > 8) return push(PickleKind::bytes, 0, digits);
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) {
      value |= static_cast<uint64_t>(static_cast<unsigned char>(digits[i])) << (8 * i);
    }
    bool negative = bytes > 0 && (digits.back() & 0x80) != 0;
    if (negative && bytes < 8) value |= ~uint64_t{0} << (8 * bytes);
    return push(PickleKind::integer, static_cast<int64_t>(value));
  }

  // Tuples, lists, sets, dicts, and the stack itself.
  bool step_stack(uint8_t op) {
    switch (op) {
      case kMark:
        if (marks_.size() >= kMostMarks) throw bad("nested too deeply");
        marks_.push_back(stack_.size());
        return true;
      case kPop:
        // As in Python: at a mark it takes the mark.
        if (stack_.size() == floor() && !marks_.empty()) {
          marks_.pop_back();
        } else {
          pop();
        }
        return true;
      case kPopMark:
        pop_to_mark();
        return true;
      case kDup:
        return push_again(top());
      case kEmptyTuple:
        return push(PickleKind::tuple);
      case kTuple1:
      case kTuple2:
      case kTuple3:
        return push(PickleKind::tuple, 0, {}, pop_many(op - kTuple1 + size_t{1}));
      case kTuple:
        return push(PickleKind::tuple, 0, {}, pop_to_mark());
      case kEmptyList:
        return push(PickleKind::list);
      case kList:
        return push(PickleKind::list, 0, {}, pop_to_mark());
      case kEmptySet:
        return push(PickleKind::set);
      case kFrozenSet:
        return push(PickleKind::set, 0, {}, pop_to_mark());
      case kEmptyDict:
        return push(PickleKind::dict);
      case kDict:
        return push(PickleKind::dict, 0, {}, pairs(pop_to_mark()));
      case kAppend:
        return extend(PickleKind::list, pop_many(1));
      case kAppends:
        return extend(PickleKind::list, pop_to_mark());
      case kAddItems:
        return extend(PickleKind::set, pop_to_mark());
      case kSetItem:
        return extend(PickleKind::dict, pop_many(2));
      case kSetItems:
        return extend(PickleKind::dict, pairs(pop_to_mark()));
      default:
        return false;
    }
  }

  std::vector<PickleId> pairs(std::vector<PickleId> items) const {
    if (items.size() % 2 != 0) throw bad("a key without a value");
    return items;
  }

  // A call stands for an object, whose items can be set as a dict's.
  bool extend(PickleKind kind, const std::vector<PickleId>& more) {
    PickleValue& into = pickle_.values[top()];
    bool object = kind == PickleKind::dict && into.kind == PickleKind::call;
    if (into.kind != kind && !object) throw bad("items are put into what cannot hold them");
    into.items.insert(into.items.end(), more.begin(), more.end());
    return true;
  }

  bool step_memo(uint8_t op) {
    switch (op) {
      case kBinPut:
        return remember(number(1));
      case kLongBinPut:
        return remember(number(4));
      case kPut:
        return remember(decimal(line()));
      case kMemoize:
        return remember(memoized_);
      case kBinGet:
        return recall(number(1));
      case kLongBinGet:
        return recall(number(4));
      case kGet:
        return recall(decimal(line()));
      default:
        return false;
    }
  }

  uint64_t decimal(std::string_view digits) const {
    if (digits.empty() || digits.size() > 9 ||
        !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) {
      throw bad("a number expected");
    }
    return std::stoull(std::string(digits));
  }

  // Programs number them from 0 or 1 on: never more than there are bytes.
  bool remember(uint64_t number) {
    if (number > at_) throw bad(fmt::format("number {} in the memo", number));
    if (number >= memo_.size()) memo_.resize(number + 1, kNothing);
    memoized_ += memo_[number] == kNothing;
    memo_[number] = top();
    return true;
  }
  bool recall(uint64_t number) {
    if (number >= memo_.size() || memo_[number] == kNothing) {
      throw bad(fmt::format("nothing has the number {} in the memo", number));
    }
    return push_again(memo_[number]);
  }

  // Classes, functions and what would be made by them.
  bool step_object(uint8_t op) {
    switch (op) {
      case kProto:
        if (uint64_t protocol = number(1); protocol > kNewestProtocol) {
          throw bad(fmt::format("protocol {}, at most {} is read", protocol, kNewestProtocol));
        }
        return true;
      case kFrame:  // a hint for buffers: what follows is read as without it
        if (number(8) > text_.size() - at_) throw bad("truncated: the frame does not end");
        return true;
      case kGlobal: {
        std::string module(line());
        return push_global(module + "." + std::string(line()));
      }
      case kStackGlobal: {
        std::vector<PickleId> names = pop_many(2);
        const PickleValue &module = pickle_.at(names[0]), &name = pickle_.at(names[1]);
        if (module.kind != PickleKind::text || name.kind != PickleKind::text) {
          throw bad("the name of a global is no text");
        }
        return push_global(module.text + "." + name.text);
      }
      case kReduce:
      case kNewObj:
        return push_call(pop_many(2));
      case kNewObjEx: {
        std::vector<PickleId> parts = pop_many(3);
        if (!pickle_.at(parts[2]).items.empty()) throw bad("a call with named arguments");
        parts.pop_back();
        return push_call(std::move(parts));
      }
      case kBuild:
        // The attributes of an object: none that are known hold values of tensors.
        pop();
        if (pickle_.at(top()).kind != PickleKind::call) {
          throw bad("attributes are set in what has none");
        }
        return true;
      case kBinPersId:
        return push(PickleKind::persistent, 0, {}, pop_many(1));
      default:
        return false;
    }
  }

  bool push_global(const std::string& name) {
    check_global_(name);
    return push(PickleKind::global, 0, name);
  }

  bool push_call(std::vector<PickleId> parts) {
    if (pickle_.at(parts[0]).kind != PickleKind::global ||
        pickle_.at(parts[1]).kind != PickleKind::tuple) {
      throw bad("what is called is no function, or its arguments are no tuple");
    }
    return push(PickleKind::call, 0, {}, std::move(parts));
  }

  static constexpr PickleId kNothing = 0xffffffff;
  std::string_view text_;
  const CheckGlobal& check_global_;
  uint64_t at_ = 0, op_at_ = 0;  // behind what was read; where the present opcode is
  Pickle pickle_;
  std::vector<PickleId> stack_, memo_;
  std::vector<size_t> marks_;  // heights of the stack
  uint64_t memoized_ = 0;      // numbers that are taken, as MEMOIZE counts them
};

}  // namespace

Pickle read_pickle(std::string_view text, const CheckGlobal& check_global) {
  return Machine(text, check_global).run();
}

}  // namespace bertrain
