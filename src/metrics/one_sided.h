// Whether a model says the same of nearly all that it is asked, although the answers differ.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace bertrain {

inline constexpr uint64_t kFewestToDoubt = 20;  // cases that say something of a model

class OneSided {
 public:
  // gold: what is right, or of several the one that was predicted if it is among them; "": nothing.
  void add(const std::string& gold, const std::string& predicted);

  // "99.5 % of the rows are labelled 'a' by the model, which 60.0 % are: …" for cases that are called
  // `things` ("rows") and are said to be `marked` ("labelled"). Empty where predictions differ (no one
  // is 99 % of them), where nearly all are right to be the same, and of fewer than kFewestToDoubt.
  std::string doubt(std::string_view things, std::string_view marked) const;

 private:
  struct Count {
    uint64_t gold = 0, predicted = 0;
  };
  std::map<std::string, Count, std::less<>> counts_;
  uint64_t total_ = 0;
};

}  // namespace bertrain
