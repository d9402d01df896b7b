// Writes the record of an attached program into a folder: two processes with a graph each, one of
// which writes memory that was freed.
//
// usage: make_attach_record FOLDER
#include <cstdio>
#include <string>

#include "tests/support/observed_spool.h"

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: make_attach_record FOLDER\n", stderr);
    return 2;
  }
  const std::string folder = arguments[1];
  profiling::HandMadeSpool healthy = profiling::observed_spool(0);
  healthy.set<std::uint32_t>(offsetof(profiling::spool::FileHeader, process), 1235);
  profiling::observed_spool(3).write(folder + "/1234.spool");
  healthy.write(folder + "/1235.spool");
  return 0;
}
