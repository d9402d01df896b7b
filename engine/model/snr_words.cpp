#include "engine/model/snr_words.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/model/count_text.h"

namespace engine {

std::string snr_text(double snr_db, std::uint64_t left_out, int decimals) {
  std::string text = std::isnan(snr_db)   ? "n/a"
                     : std::isinf(snr_db) ? (snr_db > 0 ? "exact" : "-inf")
                                          : fmt::format("{:.{}f} dB", snr_db, decimals);
  if (left_out > 0) text += fmt::format(" ({} left out)", count_text(left_out));
  return text;
}

}  // namespace engine
