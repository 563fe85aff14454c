# LORCH_CUDA: --with-cuda[=DIR], NVCC, NVCCFLAGS, CUDA_ARCHS. Sets the conditional HAVE_NVCC and, where it holds,
# NVCC (a compiler that works), CUDA_HOME (its toolkit), CUDA_GENCODE (targets: machine code for each of CUDA_ARCHS,
# and PTX for the first, which the driver compiles for newer GPUs). Leaves cuda_summary for configure's last words.
AC_DEFUN([LORCH_CUDA], [
AC_ARG_VAR([NVCC], [CUDA compiler])
AC_ARG_VAR([NVCCFLAGS], [flags for the CUDA compiler])
AC_ARG_VAR([CUDA_ARCHS], [compute capabilities to compile for, from 80 on (default: those of 80 86 89 90 100 120 that nvcc knows)])
AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@],
  [compile the CUDA kernels with the toolkit in DIR (default: if there is one in the PATH or /usr/local/cuda)])],
  [], [with_cuda=auto])

cuda_wanted=yes
AS_CASE([$with_cuda],
  [no], [NVCC= cuda_summary="none (--with-cuda=no)"],
  [yes|auto], [
    AC_PATH_PROG([NVCC], [nvcc], [], [$PATH$PATH_SEPARATOR${CUDA_HOME:-/usr/local/cuda}/bin])
    cuda_summary="none (no nvcc: --with-cuda=DIR names a toolkit); the rest is complete"],
  [ AC_PATH_PROG([NVCC], [nvcc], [], [$with_cuda/bin])
    cuda_summary="none"])
AS_CASE([$with_cuda], [no|auto], [cuda_wanted=no])

AS_IF([test -n "$NVCC"], [
  AC_MSG_CHECKING([whether $NVCC works])
  cuda_known=`$NVCC --list-gpu-code 2>&AS_MESSAGE_LOG_FD | sed -n 's/^sm_//p' | tr '\n' ' '`
  echo 'extern "C" __global__ void k(int *p) { *p = 1; }' >conftest.cu
  AS_IF([test -n "$cuda_known" && $NVCC $NVCCFLAGS -cubin -o conftest.cubin conftest.cu >&AS_MESSAGE_LOG_FD 2>&1],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no]); cuda_summary="none ($NVCC does not work, see config.log)"; NVCC=])
  rm -f conftest.cu conftest.cubin])
AS_IF([test -z "$NVCC" && test $cuda_wanted = yes],
  [AC_MSG_ERROR([--with-cuda=$with_cuda, but there is no nvcc that works: give the folder of a CUDA toolkit])])

CUDA_GENCODE= CUDA_HOME=
AS_IF([test -n "$NVCC"], [
  AC_MSG_CHECKING([for the compute capabilities to compile for])
  AS_IF([test -z "$CUDA_ARCHS"], [
    for cuda_arch in 80 86 89 90 100 120; do
      AS_CASE([" $cuda_known "], [*" $cuda_arch "*], [AS_VAR_APPEND([CUDA_ARCHS], ["${CUDA_ARCHS:+ }$cuda_arch"])])
    done])
  for cuda_arch in $CUDA_ARCHS; do
    AS_CASE([" $cuda_known "], [*" $cuda_arch "*], [],
      [AC_MSG_ERROR([CUDA_ARCHS has $cuda_arch, but $NVCC knows $cuda_known])])
    AS_IF([test "$cuda_arch" -lt 80],
      [AC_MSG_ERROR([CUDA_ARCHS has $cuda_arch, but the kernels need 80 or more])])
    AS_VAR_APPEND([CUDA_GENCODE], [" -gencode arch=compute_$cuda_arch,code=sm_$cuda_arch"])
  done
  cuda_first=`echo $CUDA_ARCHS | sed 's/ .*//'`
  AS_IF([test -z "$cuda_first"], [AC_MSG_ERROR([nvcc knows no compute capability of 80 or more, only $cuda_known])])
  AS_VAR_APPEND([CUDA_GENCODE], [" -gencode arch=compute_$cuda_first,code=compute_$cuda_first"])
  AC_MSG_RESULT([$CUDA_ARCHS])
  : ${NVCCFLAGS="-O3"}
  # Where nvcc says that it is from: what is in the PATH may be a link or a script.
  echo >conftest.cu
  CUDA_HOME=`$NVCC --dryrun -cubin -o conftest.cubin conftest.cu 2>&1 | sed -n 's/^.. TOP=//p'`
  CUDA_HOME=`cd "$CUDA_HOME" && pwd`
  rm -f conftest.cu
  AC_DEFINE_UNQUOTED([LORCH_CUDA_ARCHS], ["$CUDA_ARCHS"], [Compute capabilities that the CUDA kernels are compiled for.])
  cuda_summary="$CUDA_ARCHS ($NVCC)"])
AC_SUBST([CUDA_GENCODE])
AC_SUBST([CUDA_HOME])
AM_CONDITIONAL([HAVE_NVCC], [test -n "$NVCC"])
])
