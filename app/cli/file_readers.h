// Words that a command has no use for: which of its options reads such a file, and which of its
// subcommands was probably meant.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace app::cli {

/// Also those of its groups, which are nested commands without a name.
std::vector<const CLI::Option*> options_of(const CLI::App& command);

/// " (did you mean 'gallery'?)", or which option of the command reads such a file; it need not be
/// there. `tried`: the option that has read it already, which is no way out; empty = none.
std::string way_out(const CLI::App& command, const std::string& word, std::string_view tried = {});

}  // namespace app::cli
