// Loops over layers: what varies from turn to turn is read from, and kept in, arrays with an axis
// for the turns.
#include "backend/stablehlo/loops.h"

#include <algorithm>
#include <map>
#include <optional>

#include "backend/stablehlo/primitives.h"
#include "base/error.h"
#include "tensor/ops/op_table.h"

namespace bertrain {
namespace {

// Sequences of this loop that something outside reads.
std::vector<size_t> kept_sequences(const Places& places, size_t loop) {
  std::vector<size_t> kept;
  const std::vector<Sequence>& all = places.stacks().sequences();
  for (size_t s = 0; s < all.size(); ++s) {
    if (all[s].loop == loop && places.is_needed(s)) kept.push_back(s);
  }
  return kept;
}

// All turns at once: element-wise work on stacks, as the optimizer's update of all layers.
class AtOnce {
 public:
  AtOnce(const Loop& loop, int64_t replicas, Places& places)
      : loop_(loop),
        places_(places),
        text_(places.text()),
        emission_{text_, replicas, static_cast<int64_t>(loop.count())} {}

  static bool is_possible(const Loop& loop) {
    return loop.carried.empty() &&
           std::all_of(loop.turns[0].begin(), loop.turns[0].end(),
                       [](const Node* node) { return can_be_lifted(*node->op); });
  }

  void write(size_t number) {
    std::vector<ValueList> body;
    for (size_t j = 0; j < loop_.turns[0].size(); ++j) {
      ValueList inputs;
      for (const Source& source : loop_.sources[j]) {
        if (source.kind == Source::inside) {
          inputs.push_back(body[source.index][static_cast<size_t>(source.output)]);
        } else if (source.kind != Source::absent) {
          inputs.push_back(outer(source));
        }
      }
      body.push_back(emit_node(emission_, *loop_.turns[0][j], inputs));
    }
    for (size_t s : kept_sequences(places_, number)) {
      const Sequence& sequence = places_.stacks().sequences()[s];
      places_.set_sequence(s, body[sequence.node][static_cast<size_t>(sequence.output)]);
    }
  }

 private:
  Value outer(const Source& source) {
    auto key = std::pair(source.kind, source.kind == Source::constant
                                          ? static_cast<size_t>(source.constant_node->id)
                                          : source.index);
    auto [known, is_new] = outer_.try_emplace(key);
    if (is_new) known->second = source.kind == Source::stacked ? stacked(source) : spread(source);
    return known->second;
  }

  Value stacked(const Source& source) {
    StackPart part = places_.stacks().find(loop_.stacked[source.index]);
    Value all = places_.stack(part);
    ArrayType type = emission_.lifted(loop_.stacked[source.index][0].type());
    if (all.type == type) return all;
    auto first = static_cast<int64_t>(part.first);
    return text_.value(type, fmt::format("stablehlo.slice {} [{}] : {}", all.name,
                                         layers_text(all.type.shape, first, first + emission_.lead),
                                         signature_text({&all, 1}, type)));
  }

  // One value for all turns.
  Value spread(const Source& source) {
    Tensor tensor = source.kind == Source::constant
                        ? Tensor(const_cast<Node*>(source.constant_node), 0)
                        : loop_.invariants[source.index];
    Value x = places_.value(tensor);
    std::vector<int64_t> axes;
    for (size_t i = 0; i < x.type.shape.size(); ++i) axes.push_back(static_cast<int64_t>(i) + 1);
    ArrayType type = emission_.lifted(x.type);
    return text_.value(type, fmt::format("stablehlo.broadcast_in_dim {}, dims = [{}] : {}", x.name,
                                         list_text(axes), signature_text({&x, 1}, type)));
  }

  const Loop& loop_;
  Places& places_;
  Text& text_;
  Emission emission_;
  std::map<std::pair<Source::Kind, size_t>, Value> outer_;
};

class While {
 public:
  While(const Loop& loop, int64_t replicas, Places& places)
      : loop_(loop), places_(places), text_(places.text()), emission_{text_, replicas, 0} {}

  void write(size_t number) {
    collect(number);
    ValueList inside = names_for(start_);
    std::string operands;
    for (size_t i = 0; i < start_.size(); ++i) {
      operands += fmt::format("{}{} = {}", i > 0 ? ", " : "", inside[i].name, start_[i].name);
    }
    std::string result = text_.fresh();
    text_.line(fmt::format("{}:{} = stablehlo.while({}) : {}", result, start_.size(), operands,
                           types_text(start_)));
    text_.open("cond {");
    Value end = text_.scalar(DType::i32, static_cast<double>(loop_.count()));
    Value more = text_.value({DType::boolean, {}},
                             fmt::format("stablehlo.compare LT, {}, {}, SIGNED : (tensor<i32>, "
                                         "tensor<i32>) -> tensor<i1>",
                                         inside[0].name, end.name));
    text_.line("stablehlo.return " + more.name + " : tensor<i1>");
    text_.close("} do {");
    text_.open("");
    ValueList next = write_body(inside);
    text_.line(fmt::format("stablehlo.return {} : {}", names_text(next), types_text(next)));
    text_.close("}");

    auto after = [&](size_t i) { return Value{fmt::format("{}#{}", result, i), start_[i].type}; };
    for (size_t c = 0; c < loop_.carried.size(); ++c) {
      places_.set_last(number, c, after(first_carried_ + c));
    }
    for (size_t k = 0; k < kept_.size(); ++k)
      places_.set_sequence(kept_[k], after(first_kept_ + k));
  }

 private:
  // The loop's state: a counter, what is carried, what stays, the stacks that are read, those that
  // are filled.
  void collect(size_t number) {
    start_ = {text_.scalar(DType::i32, 0)};
    first_carried_ = start_.size();
    for (const Carried& carried : loop_.carried) start_.push_back(places_.value(carried.first));
    first_invariant_ = start_.size();
    for (Tensor t : loop_.invariants) start_.push_back(places_.value(t));
    auto first_stack = static_cast<long>(start_.size());
    for (const Tensors& values : loop_.stacked) {
      StackPart part = places_.stacks().find(values);
      Value stack = places_.stack(part);
      auto known = std::find_if(start_.begin() + first_stack, start_.end(),
                                [&](const Value& v) { return v.name == stack.name; });
      stacks_.push_back({static_cast<size_t>(known - start_.begin()), part.first});
      if (known == start_.end()) start_.push_back(stack);
    }
    first_kept_ = start_.size();
    kept_ = kept_sequences(places_, number);
    for (size_t s : kept_) {
      ArrayType type = places_.stacks().sequences()[s].values[0].type();
      type.shape.insert(type.shape.begin(), static_cast<int64_t>(loop_.count()));
      start_.push_back(text_.full(type, 0));
    }
  }

  ValueList names_for(const ValueList& values) {
    ValueList names;
    for (const Value& v : values) names.push_back({text_.fresh(), v.type});
    return names;
  }

  ValueList write_body(const ValueList& inside) {
    Value turn = inside[0];
    if (loop_.backwards) {
      Value last = text_.scalar(DType::i32, static_cast<double>(loop_.count() - 1));
      turn = arithmetic("subtract", last, turn);
    }
    std::vector<std::optional<Value>> sliced(loop_.stacked.size());
    std::map<const Node*, Value> constants;
    std::vector<ValueList> body;
    for (size_t j = 0; j < loop_.turns[0].size(); ++j) {
      ValueList inputs;
      for (const Source& source : loop_.sources[j]) {
        switch (source.kind) {
          case Source::absent:
            break;
          case Source::inside:
            inputs.push_back(body[source.index][static_cast<size_t>(source.output)]);
            break;
          case Source::constant: {
            auto [known, is_new] = constants.try_emplace(source.constant_node);
            if (is_new) known->second = text_.constant(source.constant_node->value);
            inputs.push_back(known->second);
            break;
          }
          case Source::invariant:
            inputs.push_back(inside[first_invariant_ + source.index]);
            break;
          case Source::carried:
            inputs.push_back(inside[first_carried_ + source.index]);
            break;
          case Source::stacked: {
            std::optional<Value>& value = sliced[source.index];
            auto [state, first] = stacks_[source.index];
            if (!value) value = layer(inside[state], place(turn, first));
            inputs.push_back(*value);
            break;
          }
        }
      }
      body.push_back(emit_node(emission_, *loop_.turns[0][j], inputs));
    }
    return next_state(inside, turn, body);
  }

  ValueList next_state(const ValueList& inside, const Value& turn,
                       const std::vector<ValueList>& body) {
    ValueList next = inside;
    next[0] = arithmetic("add", inside[0], text_.scalar(DType::i32, 1));
    for (size_t c = 0; c < loop_.carried.size(); ++c) {
      const Carried& carried = loop_.carried[c];
      next[first_carried_ + c] = body[carried.node][static_cast<size_t>(carried.output)];
    }
    for (size_t k = 0; k < kept_.size(); ++k) {
      const Sequence& sequence = places_.stacks().sequences()[kept_[k]];
      const Value& value = sequence.entering
                               ? inside[first_carried_ + sequence.node]
                               : body[sequence.node][static_cast<size_t>(sequence.output)];
      next[first_kept_ + k] = keep(inside[first_kept_ + k], value, turn);
    }
    return next;
  }

  Value arithmetic(const char* op, const Value& a, const Value& b) {
    return text_.value({DType::i32, {}},
                       fmt::format("stablehlo.{} {}, {} : tensor<i32>", op, a.name, b.name));
  }

  Value place(const Value& turn, size_t first) {
    if (first == 0) return turn;
    return arithmetic("add", turn, text_.scalar(DType::i32, static_cast<double>(first)));
  }

  // The operands' names that say where one layer of a stack begins.
  ValueList at(const Value& stack, const Value& index) {
    ValueList where = {index};
    if (stack.type.shape.size() > 1) {
      where.resize(stack.type.shape.size(), text_.scalar(DType::i32, 0));
    }
    return where;
  }

  Value layer(const Value& stack, const Value& index) {
    ValueList operands = {stack};
    for (const Value& v : at(stack, index)) operands.push_back(v);
    ArrayType one = stack.type, type = stack.type;
    one.shape[0] = 1;
    type.shape.erase(type.shape.begin());
    Value part = text_.value(
        one, fmt::format("stablehlo.dynamic_slice {}, sizes = [{}] : {}", names_text(operands),
                         list_text(one.shape), signature_text(operands, one)));
    return text_.value(type, fmt::format("stablehlo.reshape {} : {}", part.name,
                                         signature_text({&part, 1}, type)));
  }

  Value keep(const Value& stack, const Value& value, const Value& index) {
    ArrayType one = stack.type;
    one.shape[0] = 1;
    Value part = text_.value(one, fmt::format("stablehlo.reshape {} : {}", value.name,
                                              signature_text({&value, 1}, one)));
    ValueList operands = {stack, part};
    for (const Value& v : at(stack, index)) operands.push_back(v);
    return text_.value(stack.type,
                       fmt::format("stablehlo.dynamic_update_slice {} : {}", names_text(operands),
                                   signature_text(operands, stack.type)));
  }

  const Loop& loop_;
  Places& places_;
  Text& text_;
  Emission emission_;
  ValueList start_;
  size_t first_carried_ = 0, first_invariant_ = 0, first_kept_ = 0;
  std::vector<std::pair<size_t, size_t>> stacks_;  // of Loop::stacked: state, and first place in it
  std::vector<size_t> kept_;
};

}  // namespace

void write_loop(const Rolled& rolled, size_t number, int64_t replicas, Places& places) {
  const Loop& loop = rolled.loops[number];
  if (AtOnce::is_possible(loop)) {
    AtOnce(loop, replicas, places).write(number);
  } else {
    While(loop, replicas, places).write(number);
  }
}

}  // namespace bertrain
