#include "engine/model/counted.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace engine {
namespace {

TEST(Counted, OneIsSingularAndEverythingElseIsNot) {
  EXPECT_EQ(counted(1, "edge"), "1 edge");
  EXPECT_EQ(counted(std::size_t{0}, "edge"), "0 edges");
  EXPECT_EQ(counted(2, "edge"), "2 edges");
  EXPECT_EQ(counted(1, "copy", "copies"), "1 copy");
  EXPECT_EQ(counted(12345, "copy", "copies"), "12 345 copies");
}

}  // namespace
}  // namespace engine
