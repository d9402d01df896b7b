#include "app/cli/file_readers.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/model/text.h"

namespace app::cli {
namespace {

/// Which options read a file, by how its name ends; the first that a command has is meant. Never
/// one that writes: it would refuse a file that exists.
struct FileReaders {
  std::vector<std::string_view> endings;
  std::vector<std::string_view> options;
};
const std::vector<FileReaders> kFileReaders = {
    {{".session", ".dot", ".gv"}, {"snapshot"}},
    {{".json"}, {"request"}},
    {{".jsonl"}, {"requests"}},
    {{".npy", ".npz", ".safetensors"}, {"input", "activations.file.path"}},
};

/// The option of the command that reads this file; empty = none.
std::string reader_of(const CLI::App& command, const std::string& file) {
  for (const FileReaders& one : kFileReaders) {
    if (std::ranges::none_of(one.endings, [&](auto ending) { return file.ends_with(ending); })) {
      continue;
    }
    for (const std::string_view name : one.options) {
      for (const CLI::Option* option : options_of(command)) {
        if (option->check_lname(std::string(name))) return std::string(name);
      }
    }
  }
  return {};
}

}  // namespace

std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  std::vector<const CLI::Option*> options = command.get_options();
  for (const CLI::App* group : command.get_subcommands({})) {
    if (!group->get_name().empty()) continue;
    const std::vector<const CLI::Option*> inside = group->get_options();
    options.insert(options.end(), inside.begin(), inside.end());
  }
  return options;
}

std::string way_out(const CLI::App& command, const std::string& word, std::string_view tried) {
  std::vector<std::string> names;
  for (const CLI::App* one : command.get_subcommands({})) {
    if (!one->get_name().empty()) names.push_back(one->get_name());
  }
  if (std::string nearest = engine::suggestion(word, names); !nearest.empty()) return nearest;
  const std::string reader = reader_of(command, word);
  if (reader.empty() || reader == tried) return {};
  return fmt::format("; such a file is read with --{} FILE", reader);
}

}  // namespace app::cli
