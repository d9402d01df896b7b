#include "engine/model/paths.h"

#include <algorithm>
#include <cstddef>
#include <map>

namespace engine {
namespace {

constexpr std::string_view kSeparators = "/\\:";

class Walker {
 public:
  /// `wanted`: the rule that says whether a field is visited.
  Walker(bool FieldRules::* wanted, const std::function<void(std::string&)>& visit)
      : wanted_(wanted), visit_(visit) {}

  /// `path`: the field's rule, which applies to each text of a list.
  void walk(const Type& type, void* value, bool path) {
    switch (type.kind) {
      case Kind::Text:
        if (path) visit_(*static_cast<std::string*>(value));
        return;
      case Kind::Record:
        for (const Field& field : type.fields) {
          if (may_hold(*field.type, field.rules.*wanted_)) {
            walk(*field.type, field.in(value), field.rules.*wanted_);
          }
        }
        return;
      case Kind::List: {
        auto* element = static_cast<std::byte*>(type.list.data(value));
        for (std::size_t i = 0; i < type.list.size(value); ++i) {
          walk(*type.element, element + i * type.element->size, path);
        }
        return;
      }
      case Kind::Choice: {
        const Type* const chosen = type.choice.types[type.choice.index(value)];
        if (chosen != nullptr) walk(*chosen, type.choice.chosen(value), path);
        return;
      }
      case Kind::Optional:
        if (const void* one = type.maybe.value(value); one != nullptr) {
          walk(*type.element, const_cast<void*>(one), path);
        }
        return;
      case Kind::Bool:
      case Kind::Signed:
      case Kind::Unsigned:
      case Kind::Real:
      case Kind::Enum:
        return;
    }
  }

 private:
  bool may_hold(const Type& type, bool path) {
    if (type.kind == Kind::Text) return path;
    const auto [known, added] = may_hold_.emplace(std::pair{&type, path}, false);
    if (!added) return known->second;
    bool found = false;
    switch (type.kind) {
      case Kind::Record:
        found = std::ranges::any_of(type.fields, [&](const Field& field) {
          return may_hold(*field.type, field.rules.*wanted_);
        });
        break;
      case Kind::List:
      case Kind::Optional:
        found = may_hold(*type.element, path);
        break;
      case Kind::Choice:
        found = std::ranges::any_of(type.choice.types, [&](const Type* one) {
          return one != nullptr && may_hold(*one, path);
        });
        break;
      default:
        break;
    }
    may_hold_[{&type, path}] = found;
    return found;
  }

  bool FieldRules::* wanted_;
  const std::function<void(std::string&)>& visit_;
  std::map<std::pair<const Type*, bool>, bool> may_hold_;
};

}  // namespace

std::string last_part_of(std::string_view path) {
  const std::size_t separator = path.find_last_of(kSeparators);
  return std::string(path.substr(separator == std::string_view::npos ? 0 : separator + 1));
}

std::string without_folders(std::string_view path) {
  const std::string name = last_part_of(path);
  if (name.size() == path.size()) return name;
  return "…/" + name;
}

void for_each_path(const Type& type, void* record, const std::function<void(std::string&)>& visit) {
  Walker(&FieldRules::path, visit).walk(type, record, false);
}

void for_each_input_file(const Type& type, void* record,
                         const std::function<void(std::string&)>& visit) {
  Walker(&FieldRules::input, visit).walk(type, record, false);
}

}  // namespace engine
