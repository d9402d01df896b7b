#include "engine/model/count_text.h"

#include <cstddef>

namespace engine {

std::string grouped_digits(const std::string& whole_number) {
  const std::size_t sign = whole_number.starts_with('-') ? 1 : 0;
  std::string grouped = whole_number.substr(0, sign);
  for (std::size_t i = sign; i < whole_number.size(); ++i) {
    if (i > sign && (whole_number.size() - i) % 3 == 0) grouped += ' ';
    grouped += whole_number[i];
  }
  return grouped;
}

}  // namespace engine
