// Writes values.proto: the first step of the build of the wire, and how the copy beside this file
// is renewed. A file that is current keeps its time, so that nothing is built again.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "app/protocol/wire_schema.h"
#include "engine/input/regular_file.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "use: print_wire_schema FILE\n");
    return 1;
  }
  const engine::Result<std::string> schema = app::wire_schema();
  if (!schema.ok()) {
    fmt::print(stderr, "the value types cannot be sent: {}\n", schema.error().message);
    return 1;
  }
  const engine::Result<std::string> before = engine::read_file(argv[1], std::size_t{1} << 24);
  if (before.ok() && before.value() == schema.value()) return 0;
  std::ofstream file(argv[1], std::ios::binary);
  file << schema.value() << std::flush;
  if (file) return 0;
  fmt::print(stderr, "{} cannot be written\n", argv[1]);
  return 1;
}
