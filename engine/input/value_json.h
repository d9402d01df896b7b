// Any value described with engine/model/fields.h as JSON: the form of request files, of --json and
// of the requests inside recordings. Members have the fields' names, enumerators their names as on
// the command line ("fp8-block"), numbers are numbers; infinities and NaN, which JSON lacks, are
// "inf", "-inf" and "nan". One of several records is {"name of the alternative": {...}}, an empty
// optional is left out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "engine/input/json_text.h"
#include "engine/model/fields.h"

namespace engine {

nlohmann::ordered_json to_json(const Type& type, const void* value);
template <Described T>
nlohmann::ordered_json to_json(const T& value) {
  return to_json(kType<T>, &value);
}

/// On one line, or indented for people.
std::string to_json_text(const Type& type, const void* value, bool indented = false);
template <Described T>
std::string to_json_text(const T& value, bool indented = false) {
  return to_json_text(kType<T>, &value, indented);
}

/// Stores the members that the text has and leaves all others as they are. A value may also be a
/// text as on the command line. The error names the path of the field, what was found, what is
/// expected and, for an unknown name, the nearest known one; the record is then unspecified.
/// Validation is the caller's.
Status read_json(const Type& type, void* record, std::string_view text,
                 const JsonLimits& limits = {});
template <Described T>
Status read_json(T& record, std::string_view text, const JsonLimits& limits = {}) {
  return read_json(kType<T>, &record, text, limits);
}

struct RunRequest;
/// A request, over `base`; validated. Its texts are paths and names: one that is too long is
/// refused, since a truncated one would name something else.
Result<RunRequest> request_from_json(std::string_view text);
Result<RunRequest> request_from_json(std::string_view text, const RunRequest& base);

}  // namespace engine
