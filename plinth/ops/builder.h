// The abstract builder that models write against; the graph implements it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/ops/op_spec.h"

namespace plinth::ops {

// A value under construction. Cheap to copy; belongs to the builder that made it.
struct Value {
  int id = -1;
  bool valid() const { return id >= 0; }
};
// Stands for an absent optional input.
inline constexpr Value kNone{};

// Collects nodes. Errors are sticky: the first one is kept, later calls return invalid values, and
// whoever finishes the graph gets it. A model therefore reads as straight code.
class Builder {
 public:
  virtual ~Builder() = default;

  // Adds one use of operator `spec`; returns its outputs. An invalid Value is an absent optional input.
  virtual std::vector<Value> Add(const OpSpec& spec, std::vector<Value> inputs, Attributes attributes) = 0;

  // The type of `v`; a scalar f32 when `v` is invalid.
  virtual const ValueType& type(Value v) const = 0;

  // Names scopes after the checkpoint's module paths. Use Scope below.
  virtual void PushScope(std::string_view name) = 0;
  virtual void PopScope() = 0;
  // Gives `v` the name of the current scope, plus `.suffix` if there is one: the name by which captures
  // and goldens know it. A value may have several.
  virtual Value Name(Value v, std::string_view suffix = "") = 0;

  // A constant of the model by its path relative to the current scope ("weight"); checked for shape.
  virtual Value Constant(std::string_view name, DType dtype, std::vector<int64_t> dims) = 0;
  // A small constant given by value (a table made from the configuration), f32 or i32.
  // `dims` hold as many elements as there are values.
  virtual Value Literal(std::string_view name, const std::vector<float>& values,
                        std::vector<int64_t> dims) = 0;
  virtual Value LiteralI32(std::string_view name, const std::vector<int32_t>& values,
                           std::vector<int64_t> dims) = 0;

  // Keeps the first error.
  virtual void Fail(Status status) = 0;

  // Adds an operator with one output.
  Value Add1(const OpSpec& spec, std::vector<Value> inputs, Attributes attributes = {}) {
    auto out = Add(spec, std::move(inputs), std::move(attributes));
    return out.empty() ? kNone : out[0];
  }
};

// Opens a name scope for its lifetime.
class Scope {
 public:
  Scope(Builder& b, std::string_view name) : b_(b) { b_.PushScope(name); }
  ~Scope() { b_.PopScope(); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Builder& b_;
};

}  // namespace plinth::ops
