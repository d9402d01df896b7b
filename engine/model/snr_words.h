// An SNR in words. One that leaves elements out says so beside itself.
#pragma once

#include <cstdint>
#include <string>

namespace engine {

inline constexpr int kSnrDecimals = 2;  // of the command line and in files; the window has one

/// "20.94 dB", "exact", "n/a"; "20.94 dB (1 712 left out)".
std::string snr_text(double snr_db, std::uint64_t left_out, int decimals = kSnrDecimals);

/// Text of an SNR, for any type that has one and counts what it leaves out.
template <class Measured>
std::string snr_text(const Measured& measured, int decimals = kSnrDecimals)
  requires requires { measured.left_out(); }
{
  return snr_text(measured.snr_db, measured.left_out(), decimals);
}

}  // namespace engine
