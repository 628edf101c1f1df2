// Makes the tensors of two programs meet: names mapped by rules, layouts brought to the reference's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/verify/difference.h"

namespace plinth::verify {

// Read from a file in TOML or JSON (".json"); see docs/compare.md:
//   [[name]]    from = "literal" or pattern = "regular expression" (the whole name), to = "new name, \\1 a
//   group"
//   [[layout]]  pattern, side = "candidate" (default) or "reference", and one or more of
//               reshape = [2, 3, -1], slice = [[0, 768]] by dimension, permute = [0, 2, 3, 1]; taken in this
//               order
//   [[ranks]]   pattern, concatenate = [1]: each rank holds a part of the reference along it
// Rules of names apply to the candidate's names; the first that fits a name changes it, once.
class TensorMap {
 public:
  TensorMap();
  ~TensorMap();
  TensorMap(TensorMap&&) noexcept;
  TensorMap& operator=(TensorMap&&) noexcept;

  // Errors: InvalidArgument naming the file and the rule: bad syntax, unknown keys, a pattern RE2 refuses,
  // cyclic literal rules. FileError.
  static StatusOr<TensorMap> Load(const std::string& path);

  std::string NameOf(std::string_view candidate) const;
  // The new names, in the same order. Errors: InvalidArgument for two names that become one, for names that
  // lead in a circle, and for names longer than 4096 bytes.
  StatusOr<std::vector<std::string>> MapNames(const std::vector<std::string>& candidates) const;
  // The tensor as the rules of its side lay it out; `name` is the reference's. Error: InvalidArgument where a
  // rule does not fit the shape.
  StatusOr<StridedRef> LayOut(std::string_view name, bool candidate,
                              const formats::ConstTensorRef& tensor) const;
  // The dimension along which ranks hold parts.
  std::optional<int64_t> ConcatenatedAlong(std::string_view name) const;

 private:
  struct Rules;
  std::unique_ptr<Rules> rules_;
};

}  // namespace plinth::verify
