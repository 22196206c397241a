"""Titles of the benchmarks as pages show them."""

from __future__ import annotations

_TITLES = {
    "bert": "BERT (language model)",
    "deepseekv3_671b": "DeepSeek-V3 671B (language model)",
    "dlrm": "DLRM (recommendation)",
    "dlrm_dcnv2": "DLRM DCNv2 (recommendation)",
    "flux1": "FLUX.1 (image generation)",
    "gnmt": "GNMT (translation)",
    "gpt3": "GPT-3 175B (language model)",
    "gpt_oss_20b": "GPT-OSS 20B (language model)",
    "llama2_70b_lora": "Llama 2 70B LoRA (fine-tuning)",
    "llama31_405b": "Llama 3.1 405B (language model)",
    "llama31_8b": "Llama 3.1 8B (language model)",
    "maskrcnn": "Mask R-CNN (object detection)",
    "minigo": "Minigo (reinforcement learning)",
    "ncf": "NCF (recommendation)",
    "resnet": "ResNet-50 (image classification)",
    "retinanet": "RetinaNet (object detection)",
    "rgat": "R-GAT (graph network)",
    "rnnt": "RNN-T (speech recognition)",
    "ssd": "SSD (object detection)",
    "stable_diffusion": "Stable Diffusion (image generation)",
    "transformer": "Transformer (translation)",
    "unet3d": "3D U-Net (medical imaging)",
}


def title(benchmark: str) -> str:
    """Returns ``ResNet-50 (image classification)``; a benchmark without a title keeps its name."""
    return _TITLES.get(benchmark, benchmark)
