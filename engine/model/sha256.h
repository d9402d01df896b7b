// SHA-256 (FIPS 180-4), as 64 lower-case hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

#include "engine/model/error.h"

namespace engine {

/// Of everything in the file, from its start; the descriptor's position stays. Io.
Result<std::string> sha256_of(int descriptor);
std::string sha256_of(std::string_view text);

}  // namespace engine
