// The paths that a described value holds: fields whose rules say so, wherever they are nested. What
// is passed on to others shows the names of files, not their folders.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "engine/model/fields.h"

namespace engine {

/// What follows the last separator, of whichever system or remote notation: '/', '\' or ':'.
std::string last_part_of(std::string_view path);

/// "…/x.npy", also of "host:/data/x.npy"; a name without folders as it is.
std::string without_folders(std::string_view path);

/// Every path, also within lists, choices and optional values. Lists that cannot hold one are not
/// walked: a recording may have millions of records.
void for_each_path(const Type& type, void* record, const std::function<void(std::string&)>& visit);
template <Described T>
void for_each_path(const T& record, const std::function<void(const std::string&)>& visit) {
  for_each_path(kType<T>, const_cast<T*>(&record), [&](std::string& path) { visit(path); });
}

/// The same for files with the data of a step: its tensors and its routing.
void for_each_input_file(const Type& type, void* record,
                         const std::function<void(std::string&)>& visit);

/// A copy whose paths have no folders.
template <Described T>
T without_folders(T record) {
  for_each_path(kType<T>, &record, [](std::string& path) { path = without_folders(path); });
  return record;
}

}  // namespace engine
