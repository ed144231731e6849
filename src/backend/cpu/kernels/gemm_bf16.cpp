// The bf16 register tiles and packing of the matrix product: AVX-512 BF16, which Highway does not
// name yet.
#include "backend/cpu/kernels/gemm_kernel.h"

namespace bertrain {

const GemmKernel* gemm_kernel_bf16() { return nullptr; }

}  // namespace bertrain
