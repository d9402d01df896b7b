// A point in time as text.
#pragma once

#include <ctime>
#include <string>

namespace engine {

/// Local time in a format of strftime(), such as "%H:%M:%S". Up to 63 bytes; empty if the year is
/// beyond what the C library can count.
std::string local_time(std::time_t moment, const char* format);
/// The same in UTC.
std::string utc_time(std::time_t moment, const char* format);

}  // namespace engine
