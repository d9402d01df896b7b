// What a file is that was named where another kind belongs, so that an error can say more than what
// the file is not.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace engine {

/// How many of its first bytes tell the kind of a file.
inline constexpr std::size_t kFileKindBytes = 16;

/// "a NumPy tensor (.npy); a request names it as ...": what a file with these first bytes is, and
/// where it belongs. Empty: text, or nothing that is known here.
std::string kind_of_file(std::string_view start);

}  // namespace engine
