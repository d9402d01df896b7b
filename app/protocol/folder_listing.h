// What a folder holds, for choosing a file in it: listed by the window for its own machine, by the
// worker for another. Bounded in names and bytes, whatever the folder holds.
#pragma once

#include <limits.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/fields.h"

namespace app {

// More names than this are not readable as a list; a path can still be typed.
inline constexpr std::size_t kMaxFolderEntries = 5000;
inline constexpr std::size_t kMaxListedBytes = std::size_t{1} << 20;  // of all names
inline constexpr std::size_t kMaxLookedAt = 500'000;  // of the names that are there, fitting or not
inline constexpr std::size_t kMaxSuffixes = 64;

struct FolderEntry {
  std::string name;
  bool folder = false;
  std::uint64_t bytes = 0;  // of a file
  /// A name that leads to another folder is none.
  engine::Flaw flaw() const {
    const bool leads_on = name.empty() || name == "." || name == ".." ||
                          name.find('/') != std::string::npos ||
                          name.find('\0') != std::string::npos || name.size() > NAME_MAX;
    if (!leads_on) return {};
    return {.field = "name", .says = "is not the name of a file in its folder"};
  }
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&FolderEntry::name, &FolderEntry::folder, &FolderEntry::bytes>();
  }
};

/// Which files of a folder are wanted: those that end with one of these; all when empty.
struct FolderFilter {
  std::vector<std::string> suffixes;
  bool operator==(const FolderFilter&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&FolderFilter::suffixes>({.most = kMaxSuffixes})};
  }
};

struct FolderListing {
  std::string folder;
  std::vector<FolderEntry> entries;  // folders first, then files, both by name
  bool more = false;                 // there are others, above one of the limits
  std::uint64_t unreadable = 0;      // names that are no UTF-8, so that they cannot be sent
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&FolderListing::folder>(),
                      engine::field<&FolderListing::entries>({.most = kMaxFolderEntries}),
                      engine::field<&FolderListing::more>(),
                      engine::field<&FolderListing::unreadable>()};
  }
};

/// Folders, and files that fit; none that are hidden. An empty path is the user's home. An error
/// says why it cannot be listed; Cancelled once `cancel` is set.
engine::Result<FolderListing> list_folder(const std::string& folder, const FolderFilter& filter,
                                          const std::atomic<bool>* cancel = nullptr);

/// Leaves out and counts the names that no message can hold.
void keep_sendable(FolderListing& listing);

}  // namespace app
