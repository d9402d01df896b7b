// What happens to records that CUPTI cannot deliver. CUPTI itself is faked here.
#include "profiling/cupti/record_buffers.h"

#include <gtest/gtest.h>

namespace profiling {
namespace {

constexpr std::uint64_t kNeverEnded = 0;

CUpti_ActivityKernel10 kernel(std::uint64_t end_ns) {
  CUpti_ActivityKernel10 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.start = 10;
  record.end = end_ns;
  record.name = "kernel";
  return record;
}

// The records of the buffer under test and what follows them.
CUpti_ActivityKernel10 records[2];
CUptiResult after_records = CUPTI_ERROR_MAX_LIMIT_REACHED;

CUptiResult CUPTIAPI next_record(std::uint8_t*, std::size_t, CUpti_Activity** record) {
  auto* const first = reinterpret_cast<CUpti_Activity*>(&records[0]);
  auto* const second = reinterpret_cast<CUpti_Activity*>(&records[1]);
  if (*record == second) return after_records;
  *record = *record == nullptr ? first : second;
  return CUPTI_SUCCESS;
}

class RecordBuffersTest : public testing::Test {
 protected:
  RecordBuffersTest() { cupti_.get_next_record = &next_record; }

  RawActivity read(CUptiResult end) {
    after_records = end;
    std::size_t bytes = 0;
    std::uint8_t* const buffer = buffers_.borrow(bytes);
    buffers_.give_back(buffer, bytes);
    return buffers_.drain();
  }

  CuptiLibrary cupti_;
  RecordBuffers buffers_{cupti_};
};

TEST_F(RecordBuffersTest, ABufferReadToItsEndLosesNothing) {
  records[0] = kernel(20);
  records[1] = kernel(30);
  EXPECT_EQ(read(CUPTI_ERROR_MAX_LIMIT_REACHED).records.size(), 2U);
  EXPECT_EQ(buffers_.lost(), 0U);
  EXPECT_EQ(buffers_.take_read_error(), CUPTI_SUCCESS);
}

TEST_F(RecordBuffersTest, ARecordWithoutAnEndIsLost) {
  records[0] = kernel(20);
  records[1] = kernel(kNeverEnded);
  EXPECT_EQ(read(CUPTI_ERROR_MAX_LIMIT_REACHED).records.size(), 1U);
  EXPECT_EQ(buffers_.lost(), 1U);
}

TEST_F(RecordBuffersTest, AnErrorIsNotTheEndOfABuffer) {
  records[0] = kernel(20);
  records[1] = kernel(30);
  EXPECT_EQ(read(CUPTI_ERROR_INVALID_KIND).records.size(), 2U);
  EXPECT_EQ(read(CUPTI_ERROR_UNKNOWN).records.size(), 2U);
  EXPECT_EQ(buffers_.lost(), 2U);
  EXPECT_EQ(buffers_.take_read_error(), CUPTI_ERROR_INVALID_KIND);
  EXPECT_EQ(buffers_.take_read_error(), CUPTI_SUCCESS);
}

}  // namespace
}  // namespace profiling
