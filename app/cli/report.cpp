#include <fmt/format.h>

#include <cstdio>

#include "app/cli/command.h"
#include "app/cli/terminal.h"

namespace app::cli {

int report(const engine::Error& error) {
  print(stderr, "expertscope: {}\n", error.message);
  switch (error.code) {
    case engine::ErrorCode::InvalidArgument:
    case engine::ErrorCode::NotFound:
    case engine::ErrorCode::Io:
    case engine::ErrorCode::Unsupported:
      return kExitUserError;
    case engine::ErrorCode::OutOfMemory:
    case engine::ErrorCode::Device:
    case engine::ErrorCode::Protocol:
    case engine::ErrorCode::Cancelled:
    case engine::ErrorCode::Internal:
      break;
  }
  return kExitWorkerFailure;
}

}  // namespace app::cli
