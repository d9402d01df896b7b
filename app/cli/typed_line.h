// The command line as the user typed it: for messages that name an option as the user did, and for
// commands that the user can repeat.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"

namespace app::cli {

/// Call once, before a command begins.
void note_typed_words(std::vector<std::string> words);

/// The command line as it was typed, quoted so that a shell takes it, with this value for the
/// option of these names: in place of the value that was typed for it, or else as its last words.
std::string typed_command_with(const std::vector<std::string>& names, const std::string& value);

/// The option of this field of a request as it was typed, "--n" for "shape.n"; empty = it was not.
std::string typed_option(std::string_view field);

/// The error's message with the options that were typed in place of the fields' paths: "--n is 20;
/// ..." for "shape.n is 20; ...".
std::string message_as_typed(const engine::Error& error);
/// The same with names of the caller's: `typed_name` of a path is empty where it has none.
std::string message_naming(const engine::Error& error,
                           const std::function<std::string(std::string_view path)>& typed_name);

}  // namespace app::cli
